"""All kinds of windows. A type checker refuses a kind that a `match` over them leaves out."""

from collections.abc import Mapping
from typing import Final, get_args

from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions

AnyWindows = Calendar | Counts | Cumulate | Grid | Sessions | SlidingCounts
KINDS: Final[Mapping[str, type[AnyWindows]]] = {kind.kind: kind for kind in get_args(AnyWindows)}
"""The kinds by their names in the stored definitions of tables."""
