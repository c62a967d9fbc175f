"""Prints foreign text to a terminal without markup or control characters.

No other module may use rich: its own console interprets markup, and passes control characters on.
"""

from collections.abc import Sequence
from typing import Any, Final

import rich.console
from rich.columns import Columns
from rich.console import ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tidemark.command_line.printable import printable

__all__ = ["Columns", "Console", "FirstFitting", "Group", "Live", "RenderableType", "Table", "styled"]

_PIPED_WIDTH: Final = 1_000
"""Tables are as wide as their content up to this many characters."""


def styled(text: str, style: str) -> Text:
    """Returns text in a style, such as `bold red`."""
    return Text(printable(text), style)


class FirstFitting:
    """The first of several forms of a text that fits into the height of the terminal, else the last form."""

    def __init__(self, forms: Sequence[RenderableType]) -> None:
        self._forms = forms

    def __rich_console__(self, console: rich.console.Console, options: ConsoleOptions) -> RenderResult:
        """Yields the form."""
        free = options.update(height=None)
        fitting = (f for f in self._forms if len(console.render_lines(f, free, pad=False)) < console.size.height)
        yield next(fitting, self._forms[-1])


class Console(rich.console.Console):
    """Prints each string without interpreting it, alone or in a table's cell, heading or title."""

    def __init__(self, **more: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **more)

    def print_rows(self, table: Table) -> None:
        """Prints a table; each row is one line if the output is no terminal, such as a pipe."""
        if not self.is_terminal:
            self.width = _PIPED_WIDTH
        self.print(table)

    def render_str(self, text: str, **how: Any) -> Text:
        """Returns the string with escapes, without markup."""
        return super().render_str(printable(text), **{**how, "markup": False, "emoji": False, "highlighter": None})
