"""Makes foreign text harmless to a terminal."""

import click


def printable(text: str) -> str:
    r"""Returns the text with each character that is not printed written as its escape.

    Escaped are control characters (ASCII and C1), marks of writing direction, invisible characters and line breaks.

    >>> printable("a\x1b[31m\u202eb")
    'a\\x1b[31m\\u202eb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_lines(text: str) -> str:
    """Like `printable`, but keeps line feeds."""
    return "\n".join(map(printable, text.split("\n")))


def say(text: str, *, err: bool = False) -> None:
    """Prints a message to standard output or error."""
    click.echo(printable_lines(text), err=err)
