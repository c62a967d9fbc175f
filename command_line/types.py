"""Values of options as people write them."""

from collections.abc import Callable
from typing import Any

import click


class Parsed(click.ParamType[Any]):
    """Text that a reader makes a value of, or raises ValueError with a sentence."""

    def __init__(self, form: str, read: Callable[[str], Any]) -> None:
        """`form` is how help names it, such as DURATION."""
        self.name = form
        self._read = read

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - the signature is Click's
        """The form, as it is."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; of what is none already."""
        try:
            return self._read(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def named(form: str) -> Parsed:
    """Returns the type of a text that names something, as a user; blank text, as of an unset variable, is refused."""

    def read(text: str) -> str:
        if not text.strip():
            raise ValueError(f"{text!r} is blank: write {form}, and see that the variable is set if it comes from one")
        return text

    return Parsed(form, read)
