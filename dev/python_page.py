"""Writes the interface for Python into `docs/deploying.md` from its signatures and docstrings: `make pages`."""

import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from dev.generated import with_generated
from tidemark.pipeline import errors
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import TidemarkError
from tidemark.pipeline.reading.spark_views import spark_views
from tidemark.pipeline.service.runner import RunningService

PAGE: Final = Path(__file__).parents[1] / "docs" / "deploying.md"
_SOURCE: Final = "the docstrings of the front door"
_ERRORS: Final = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, TidemarkError) and each is not TidemarkError
]


def with_interface(page: str) -> str:
    """Returns `page` with the current interface between its markers."""
    members = vars(RunningService).items()
    names = {f"service.{name}": member for name, member in members if not name.startswith("_") and _is_public(member)}
    calls = {"open_service": open_service, **names, "spark_views": spark_views}
    raised = "".join(_wrapped(f"- `{error.__name__}`: {inspect.getdoc(error)}") for error in _ERRORS)
    entries = "\n".join(_entry(name, member) for name, member in calls.items())
    return with_generated(page, _SOURCE, f"{entries}\nErrors, of `tidemark.pipeline.errors`:\n\n{raised}")


def _is_public(member: Any) -> bool:
    return callable(member) or isinstance(member, property)


def _entry(name: str, member: Any) -> str:
    """Returns a call and what its docstring says."""
    call = name if isinstance(member, property) else f"{name}({_arguments(member)})"
    first, _, rest = (inspect.getdoc(member) or "").partition("\n\n")
    return "\n".join(_wrapped(text) for text in (f"`{call}`: {first}", *rest.split("\n\n")) if text)


def _arguments(function: Callable[..., Any]) -> str:
    return ", ".join(name for name in inspect.signature(function).parameters if name != "self")


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, subsequent_indent="  " if text.startswith("- ") else "") + "\n"


if __name__ == "__main__":
    PAGE.write_text(with_interface(PAGE.read_text()))
