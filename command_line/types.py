"""Types of options: parsers of their text."""

from collections.abc import Callable
from typing import Any

import click

from tidemark.command_line.printable import quoted


class Parsed(click.ParamType[Any]):
    """The type of an option that `parse` converts from text; `parse` raises ValueError with a sentence."""

    def __init__(self, form: str, parse: Callable[[str], Any]) -> None:
        """`form` is its name in help, such as DURATION."""
        self.name = form
        self._parse = parse

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - the signature is Click's
        """Returns `form`, not in upper case as Click would."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the parsed value, or the value itself if it is not text."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def named(form: str) -> Parsed:
    """Returns the type of a name, such as a user id. Blank text, as from an unset variable, is refused."""

    def read(text: str) -> str:
        if not text.strip():
            hint = "see that the variable is set if it comes from one"
            raise ValueError(f"{quoted(text)} is blank: write {form}, and {hint}")
        return text

    return Parsed(form, read)
