"""The questions that the core of periods asks of tables.

`period_tables.py` answers them from a warehouse, and tests of the core from plain rows.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tidemark.pipeline.reading.periods.period_sources import Visits
from tidemark.pipeline.reading.periods.tiling import WindowLevel, WindowRun

Runs = Sequence[WindowRun]


@dataclass(frozen=True, slots=True)
class VisitSums:
    """Visits that began in a span; durations in seconds, from the first to the last event."""

    visits: int = 0
    going: int = 0
    """Visits that have not ended by the watermark."""
    bounced: int = 0
    """Ended visits with one page view and no click."""
    median_s: float | None = None
    """Median duration of ended visits."""
    mean_s: float | None = None
    unfinal: int = 0
    """Visits that are not closed."""
    last_end: int = 0
    """The latest end of a visit, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Top:
    """The values of a key with the highest numbers, and all values together."""

    rows: Sequence[tuple[str | None, Mapping[str, int]]]
    """Each value and its numbers, the highest first; of equal numbers the lowest value in text order."""
    totals: Mapping[str, int]
    """Sums over all values."""
    values: int
    """Number of values."""


class Store(Protocol):
    """Published windows. `page`: only rows of this page, in reports that have pages as a key."""

    def sums(self, runs: Runs, page: str | None) -> dict[str, int]:
        """Returns the sums of page views and clicks."""
        ...

    def by_window(self, level: WindowLevel, start: int, end: int, page: str | None) -> dict[int, int]:
        """Returns page views by the end (ms) of each window in `[start, end)` that has some."""
        ...

    def has_more_users(self, runs: Runs, than: int) -> bool:
        """Returns whether there are more than that number of rows with a user."""
        ...

    def users(self, runs: Runs) -> int:
        """Returns the exact number of different users."""
        ...

    def users_by_bar(self, bars: Sequence[Runs]) -> list[int]:
        """Returns the exact number of different users of each bar."""
        ...

    def estimate(self, runs: Runs, page: str | None) -> int:
        """Returns the estimated number of different users, from sketches."""
        ...

    def estimates(self, runs: Runs, pages: Collection[str]) -> dict[str, int]:
        """Returns the estimated number of different users by page."""
        ...

    def top(self, runs: Runs, key: str, most: int, page: str | None) -> Top:
        """Returns the `most` values of a key with the most page views, then clicks."""
        ...

    def visits(self, visits: Visits, start: int, end: int, page: str | None) -> VisitSums:
        """Returns the visits that began in `[start, end)`, by entry page if `page` is not None."""
        ...

    def top_visits(
        self, visits: Visits, span: tuple[int, int], most: int, page: str | None, ended: Collection[str]
    ) -> Mapping[str, Top]:
        """Returns by text measure the `most` values with the most visits; of those in `ended` only ended visits."""
        ...

    def new_users(self, start: int, end: int) -> int:
        """Returns the number of users whose first event of all is in `[start, end)`."""
        ...
