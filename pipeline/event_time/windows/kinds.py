"""The kinds of windows, by their names in the stored definitions of tables."""

from collections.abc import Mapping
from typing import Final

from tidemark.pipeline.event_time.windows.base import Windows
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions

KINDS: Final[Mapping[str, type[Windows]]] = {
    "calendar": Calendar,
    "counts": Counts,
    "cumulate": Cumulate,
    "grid": Grid,
    "sessions": Sessions,
}
