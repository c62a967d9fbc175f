"""The only way to a terminal for what came from outside: there it is text, and nothing that acts.

No other module uses rich, whose own console reads markup in each string and passes on what steers a terminal.
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
    """Prints each string as it is, wherever it is: in a table's cell, heading or title, or alone."""

    def __init__(self, **more: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **more)

    def render_str(self, text: str, **how: Any) -> Text:
        """Returns the string as text that can be printed."""
        return super().render_str(printable(text), **{**how, "markup": False, "emoji": False, "highlighter": None})
