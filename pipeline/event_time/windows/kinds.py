"""The kinds of windows, by their names in the stored definitions of tables."""

from collections.abc import Mapping
from typing import Final

from pipeline.event_time.windows.base import Windows
from pipeline.event_time.windows.calendar import Calendar
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.cumulate import Cumulate
from pipeline.event_time.windows.grid import Grid
from pipeline.event_time.windows.session import Sessions

KINDS: Final[Mapping[str, type[Windows]]] = {
    "calendar": Calendar,
    "counts": Counts,
    "cumulate": Cumulate,
    "grid": Grid,
    "sessions": Sessions,
}
