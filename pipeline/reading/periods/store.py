"""The questions that the core of periods asks of tables.

`period_tables.py` answers them from a warehouse, and tests of the core from plain rows.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tidemark.pipeline.reading.periods.filters import Only
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
    mean_views: float | None = None
    """Mean page views of ended visits."""
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
    """Number of values; at least, if the list is about."""
    is_about: bool = False
    """Whether windows have only the largest values: then numbers are at least those, and a value may be missing."""


class Store(Protocol):
    """Published windows. `only`: rows with these values of keys, which the reports have; of visits also of texts."""

    def sums(self, runs: Runs, only: Only) -> dict[str, int]:
        """Returns the sums of page views and clicks."""
        ...

    def by_window(self, level: WindowLevel, start: int, end: int, only: Only) -> dict[int, int]:
        """Returns page views by the end (ms) of each window in `[start, end)` that has some."""
        ...

    def has_more_users(self, runs: Runs, than: int) -> bool:
        """Returns whether there are more than that number of rows with a user."""
        ...

    def users(self, runs: Runs, only: Only) -> int:
        """Returns the exact number of different users."""
        ...

    def users_by_bar(self, bars: Sequence[Runs]) -> list[int]:
        """Returns the exact number of different users of each bar."""
        ...

    def estimate(self, runs: Runs, only: Only) -> int:
        """Returns the estimated number of different users, from sketches."""
        ...

    def estimates(self, runs: Runs, pages: Collection[str]) -> dict[str, int]:
        """Returns the estimated number of different users by page."""
        ...

    def top(self, runs: Runs, key: str, most: int, only: Only) -> Top:
        """Returns the `most` values of a key with the most page views, then clicks."""
        ...

    def visits(self, visits: Visits, start: int, end: int, only: Only) -> VisitSums:
        """Returns the visits that began in `[start, end)`.

        With an exit page in `only` visits that are still going are among them, because theirs is not known.
        """
        ...

    def top_visits(
        self,
        visits: Visits,
        texts: Sequence[str],
        span: tuple[int, int],
        most: int,
        only: Only,
        ended: Collection[str],
    ) -> Mapping[str, Top]:
        """Returns by text measure (or users) the `most` values with the most visits; of `ended` only ended visits."""
        ...

    def new_users(self, start: int, end: int) -> int:
        """Returns the number of users whose first event of all is in `[start, end)`."""
        ...
