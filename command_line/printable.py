"""Makes foreign text harmless to a terminal."""

from typing import Any, Final

import click

_LONGEST: Final = 120
"""A sentence repeats at most this many characters of a value."""


def printable(text: str) -> str:
    r"""Returns the text with unprintable characters escaped.

    These are control characters (ASCII and C1), marks of writing direction, invisible characters and line breaks.

    >>> printable("a\x1b[31m\u202eb")
    'a\\x1b[31m\\u202eb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_lines(text: str) -> str:
    """Like `printable`, but keeps line feeds."""
    return "\n".join(map(printable, text.split("\n")))


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Returns the text, with its middle left out if it has more than `longest` characters.

    >>> shortened("a" * 5000, longest=10)
    'aaaaa...aaaaa (5000 characters)'
    """
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}...{text[-half:]} ({len(text)} characters)"


def quoted(value: Any) -> str:
    """Returns a value as a sentence quotes it: its representation, shortened.

    >>> quoted("30 s")
    "'30 s'"
    """
    try:
        return shortened(repr(value))
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return "a number that is too long to repeat"


def say(text: str, *, err: bool = False) -> None:
    """Prints a message to standard output or error."""
    click.echo(printable_lines(text), err=err)
