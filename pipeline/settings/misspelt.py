"""Describes errors in settings, and suggests the name that was probably meant."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from tidemark.command_line.printable import quoted, shortened
from tidemark.kafka_access.addresses import has_credentials
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.model import PREFIX, Settings
from tidemark.pipeline.settings.setting_catalogue import catalogue, names_at
from tidemark.pipeline.settings.sources import Source, source_of

_OTHER_VARIABLES: Final = {
    "TIDEMARK_CONFIG",
    "TIDEMARK_JARS_CACHE",
    "TIDEMARK_MAVEN_MIRROR",
    "TIDEMARK_SQL_PASSWORD",
}
_MOST_PROBLEMS: Final = 20
"""A sentence lists at most this many errors."""
_LONGEST_MESSAGE: Final = 500
_NO_SECTION: Final = {"model_type", "model_attributes_type", "dict_type"}
"""pydantic's names of an error: the value is not a section."""


def check_variables(environment: Iterable[str]) -> None:
    """Raises SetUpError for a variable that names no section or setting at the top of the tree, or that is repeated.

    pydantic would ignore the variable. It checks the names below together with the values.
    """
    variables = dict[str, str]()
    for variable in environment:
        name = variable.upper()  # pydantic ignores case, too
        if not name.startswith(PREFIX) or name in _OTHER_VARIABLES:
            continue
        if name in variables:
            both = " and ".join(shortened(each) for each in sorted([variable, variables[name]]))
            raise SetUpError(f"{both} are the same setting, because case does not count: unset one of the two")
        variables[name] = variable
        path = name.removeprefix(PREFIX).lower().split("__")
        if path[0] not in Settings.model_fields:
            suggestion = _suggested_variable(name) or _suggestion(path, in_environment=True)
            others = f": after {PREFIX} comes one of {', '.join(sorted(map(str.upper, Settings.model_fields)))}"
            raise SetUpError(f"{shortened(variable)} names no setting{suggestion or others}")


def _suggested_variable(name: str) -> str:
    """Suggests the variable that differs in its underscores only; empty if there is no such variable."""
    plain = name.replace("_", "")
    same = [setting.variable for setting in catalogue() if setting.variable.replace("_", "") == plain]
    return f"; did you mean {same[0]}?" if same else ""


def sentence(error: ValidationError, sources: Sequence[Source]) -> str:
    """Returns a sentence with all errors, but no more than `_MOST_PROBLEMS`."""
    problems = [_problem_text(problem, sources) for problem in error.errors()]
    more = len(problems) - _MOST_PROBLEMS
    rest = [f"and {more} more"] if more > 0 else []
    return f"the settings are invalid: {'; '.join([*problems[:_MOST_PROBLEMS], *rest])}"


def _problem_text(problem: Mapping[str, Any], sources: Sequence[Source]) -> str:
    path = [str(part) for part in problem["loc"]]
    source = source_of(path, sources)
    location = shortened(source.location(path)) if source else ""
    name = shortened(".".join(path))
    if problem["type"] == "extra_forbidden":
        suggestion = _suggestion(path, in_environment=source is not None and source.kind == "environment")
        return f"{name}: there is no such setting{f' (in {location})' if location else ''}{suggestion}"
    message, value = _message(problem, path, source), problem["input"]
    # A secret must not be shown, and a whole section may contain one.
    is_hidden = _is_secret(path) or has_credentials(value)
    found = f"found {quoted(value)}" if isinstance(value, str | int | float) and not is_hidden else ""
    words = " ".join(filter(None, [found, f"in {location}" if location else ""]))
    return f"{name}: {message}{f' ({words})' if words else ''}".removeprefix(": ")


def _message(problem: Mapping[str, Any], path: Sequence[str], source: Source | None) -> str:
    """Returns pydantic's message; for a value in the place of a section, how to write the section."""
    if problem["type"] not in _NO_SECTION:
        return shortened(str(problem["msg"]).removeprefix("Value error, "), _LONGEST_MESSAGE)
    form = "a table in TOML" if source is None or source.kind == "file" else "an object in JSON"
    names = ", ".join(names_at(path)[:3])
    return f"expected {form}{f' with settings such as {names}' if names else ''}"


def _suggestion(path: Sequence[str], *, in_environment: bool) -> str:
    """Suggests a similar name in the same section, or the same name in another section."""
    *section, last = path
    everywhere = [setting.name for setting in catalogue()]
    near = [".".join([*section, name]) for name in get_close_matches(last, names_at(section), 1)]
    elsewhere = [name for name in everywhere if name.split(".")[-1] == last]
    candidates = (near or elsewhere or get_close_matches(".".join(path), everywhere, 1))[:2]
    names = [PREFIX + name.replace(".", "__").upper() if in_environment else name for name in candidates]
    return f"; did you mean {' or '.join(names)}?" if names else ""


def _is_secret(path: Sequence[str]) -> bool:
    """Tests whether the value at a path is a secret, or contains one."""
    secrets = (setting.path for setting in catalogue() if setting.is_secret)
    return any(secret[: len(path)] == tuple(path)[: len(secret)] for secret in secrets)
