"""The settings of a service in plain words, which both the adapter and the reference model understand."""

from dataclasses import dataclass, replace
from typing import Final

from tests.simulation.events import MINUTE

MARKING: Final = "ann"
TEN: Final = 10 * MINUTE
GAP: Final = 4 * MINUTE


@dataclass(frozen=True, slots=True)
class Shape:
    """A report: windows of `size` ms every `slide_ms`, sessions after a gap of `size` ms, or `size` events each.

    Cumulative windows grow by `slide_ms`; those of the calendar start when clocks of `zone` show a multiple of `size`.
    """

    name: str
    kind: str
    """`grid`, `cumulate`, `calendar`, `sessions` or `counts`."""
    size: int
    slide_ms: int = 0
    lateness_ms: int = 0
    zone: str = ""
    slide: int = 0
    """Of counts: after each of these many events the last `size` are a window; 0 if each event is in one window."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of a service, as far as they decide what its tables contain."""

    shapes: tuple[Shape, ...]
    has_totals: bool = False
    deduplicates: bool = False
    keeps_rows_ms: int | None = None
    """How long results are kept after their window's end; None for ever."""
    strategy: str = "bounded"
    """`bounded` and `time_lag` by `lag_ms`, or `punctuated`, where events of `MARKING` alone move the watermark."""
    lag_ms: int = 0
    follows_clock: bool = False
    """Whether the watermark follows the clock while all partitions are idle."""

    @property
    def names(self) -> set[str]:
        """The names of its reports."""
        return {shape.name for shape in self.shapes}


VIEWS: Final = Shape("page_views", "grid", TEN, TEN)
SLIDING: Final = Shape("page_views", "grid", TEN, TEN // 2)
VISITS: Final = Shape("visits", "sessions", GAP)
PAIRS: Final = Shape("pairs", "counts", 2)
LAST: Final = Shape("last", "counts", 3, slide=2)
LENIENT: Final = replace(VIEWS, lateness_ms=5 * MINUTE)
GROWING: Final = Shape("growing", "cumulate", 2 * TEN, TEN // 2)
HOURS: Final = Shape("hours", "calendar", 60 * MINUTE, zone="Asia/Kathmandu")
"""Local hours, which start at a quarter past the hour of UTC."""

GRID: Final = Rules((VIEWS,))
SLIDES: Final = Rules((SLIDING,))
SESSIONS: Final = Rules((VISITS,))
COUNTS: Final = Rules((PAIRS,))
LAST_ONES: Final = Rules((LAST,))
TOTALS: Final = Rules((VIEWS,), has_totals=True)
UNIQUE: Final = Rules((LENIENT,), deduplicates=True)
AGED: Final = Rules((VIEWS,), keeps_rows_ms=TEN)
