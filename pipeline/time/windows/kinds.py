"""The kinds of windows, by the name that stands in a table's definition."""

from collections.abc import Mapping
from typing import Final

from pipeline.time.windows.base import Windows
from pipeline.time.windows.calendar import Calendar
from pipeline.time.windows.count import Counts
from pipeline.time.windows.grid import Grid
from pipeline.time.windows.session import Sessions

KINDS: Final[Mapping[str, type[Windows]]] = {
    "calendar": Calendar,
    "counts": Counts,
    "grid": Grid,
    "sessions": Sessions,
}
