"""Figures over windows that tumble: page views, clicks, visitors. Pure: tables answer through `Store`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.periods.comparison import cut_tilings
from tidemark.pipeline.reading.periods.figures import (
    Compared,
    Coverage,
    Figure,
    FigureState,
    coverage_of,
    unknown_coverage,
)
from tidemark.pipeline.reading.periods.filters import Only
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.period_sources import COUNTS, Sources
from tidemark.pipeline.reading.periods.reasons import Reasons
from tidemark.pipeline.reading.periods.store import Store
from tidemark.pipeline.reading.periods.tiling import Tiling, WindowLevel, tiling_of

EXACT_ROWS: Final = 2_000_000
"""Users are counted exactly in up to this many rows, else by sketches."""
Count = Callable[[Tiling], float | None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A resolved question: the period, the other side of its comparison, and its filters."""

    period: Period
    other: Period | None
    only: Only = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WindowFigures:
    """Computes the figures of a question."""

    asked: Asked
    sources: Sources
    store: Store
    reasons: Reasons
    exact_rows: int = EXACT_ROWS

    @property
    def levels(self) -> Sequence[WindowLevel]:
        """The levels of page views and clicks."""
        return self.sources.with_keys(self.asked.only) if self.asked.only else self.sources.site

    @property
    def covered(self) -> tuple[Tiling, Coverage]:
        """The tiling of page views, and its coverage."""
        tiling = self.tiling(self.levels)
        return tiling, self.coverage(tiling, self.levels, self._kind)

    def tiling(self, levels: Sequence[WindowLevel]) -> Tiling:
        """Returns the tiling of the period."""
        return tiling_of(self.asked.period.start, self.asked.period.end, levels)

    def coverage(self, tiling: Tiling, levels: Sequence[WindowLevel], kind: str) -> Coverage:
        """Returns the coverage of the windows of `levels` in a tiling. A reason names their numbers by `kind`."""
        if reason := self.reasons.of(tiling, levels, kind):
            return unknown_coverage(tiling.start, reason)
        return self.reasons.of_part(coverage_of(tiling), self.asked.period.start)

    def counts(self) -> Mapping[str, Figure]:
        """Returns the page views and the clicks."""
        sums = cache(lambda tiling: self.store.sums(tiling.runs, self.asked.only))

        def count(name: str, tiling: Tiling) -> int:
            return sums(tiling)[name]

        return {name: self._figure(self.levels, self._kind, partial(count, name)) for name in COUNTS}

    def visitors(self) -> Figure:
        """Returns the different users: exact of few rows, else an estimate."""
        sources, only = self.sources, self.asked.only
        if only:
            return self._filtered_visitors()
        runs = self.tiling(sources.users).runs
        if sources.site_sketches and (not sources.users or self.store.has_more_users(runs, self.exact_rows)):
            return self._estimate(sources.site_sketches, "visitors")
        return self._figure(sources.users, "visitors", cache(lambda tiling: self.store.users(tiling.runs, only)))

    def by(self, key: str) -> Sequence[WindowLevel]:
        """Returns the levels whose rows have a key, and the keys of the filters."""
        return self.sources.with_keys({*self.asked.only, key}, listed="" if key in self.asked.only else key)

    def unknown_by(self, *keys: str) -> str:
        """Returns the sentence for page views by the filters and further keys, of which no report has rows."""
        return self.reasons.no_keys([*self.asked.only, *keys], "page views and clicks")

    def _filtered_visitors(self) -> Figure:
        """Returns the users of the rows that the filters leave: from sketches, else from rows of single users."""
        only = self.asked.only
        if c.USER_ID not in only and (levels := self.sources.with_keys(only, c.UNIQUE_USERS)):
            return self._estimate(levels, "")
        kind = (
            "visitors of a page"
            if {*only} == {c.PAGE_URL}
            else self.reasons.no_keys([*only], f"visitors ({c.UNIQUE_USERS})")
        )
        return self._figure(self.by(c.USER_ID), kind, cache(lambda tiling: self.store.users(tiling.runs, only)))

    @property
    def _kind(self) -> str:
        """The name, in reasons, of the numbers of `levels`, or why no report has them."""
        if not self.asked.only:
            return "page views"
        return "pages" if {*self.asked.only} == {c.PAGE_URL} else self.unknown_by()

    def _estimate(self, levels: Sequence[WindowLevel], kind: str) -> Figure:
        """Returns the different users, from the sketches of `levels`."""
        figure = self._figure(levels, kind, cache(lambda tiling: self.store.estimate(tiling.runs, self.asked.only)))
        return replace(figure, is_exact=False)

    def _figure(self, levels: Sequence[WindowLevel], kind: str, count: Count) -> Figure:
        """Returns a figure over the windows of `levels`; `count` returns its value of a tiling."""
        tiling = self.tiling(levels)
        coverage = self.coverage(tiling, levels, kind)
        if coverage.state is FigureState.UNKNOWN:
            return Figure(None, coverage)
        return Figure(count(tiling), coverage, compared=self._compared(tiling, levels, count))

    def _compared(self, tiling: Tiling, levels: Sequence[WindowLevel], count: Count) -> Compared | None:
        period, other = self.asked.period, self.asked.other
        if other is None:
            return None
        if reason := self.reasons.of_other_side(other.start, tiling.start):
            return unknown_side(other, reason)
        sides = cut_tilings(tiling, period, other, levels)
        if sides is None:
            return unknown_side(other, self.reasons.no_cut())
        own, theirs = sides
        return Compared(count(theirs), count(own), own.end, other.start, theirs.end, coverage_of(theirs).state)


def unknown_side(other: Period, reason: str) -> Compared:
    """Returns the side of a comparison that is unknown."""
    return Compared(None, None, other.start, other.start, other.end, FigureState.UNKNOWN, reason)
