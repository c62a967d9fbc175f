"""Prints foreign text to a terminal without markup or control characters.

No other module may use rich: its own console interprets markup, and passes control characters on.
"""

from typing import Any

import rich.console
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from command_line.printable import printable

__all__ = ["Columns", "Console", "Group", "Live", "RenderableType", "Table", "styled"]


def styled(text: str, style: str) -> Text:
    """Returns text in a style, such as `bold red`."""
    return Text(printable(text), style)


class Console(rich.console.Console):
    """Prints each string without interpreting it, alone or in a table's cell, heading or title."""

    def __init__(self, **more: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **more)

    def render_str(self, text: str, **how: Any) -> Text:
        """Returns the string with escapes, without markup."""
        return super().render_str(printable(text), **{**how, "markup": False, "emoji": False, "highlighter": None})
