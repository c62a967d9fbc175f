"""Figures over windows that tumble: page views, clicks, visitors. Pure: tables answer through `Store`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tidemark.pipeline.reading.periods.comparison import cut_tilings
from tidemark.pipeline.reading.periods.figures import Compared, Coverage, Figure, FigureState, coverage_of, unknown
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.period_sources import Sources
from tidemark.pipeline.reading.periods.reasons import Reasons
from tidemark.pipeline.reading.periods.store import Store
from tidemark.pipeline.reading.periods.tiling import Tiling, WindowLevel, tiling_of

EXACT_ROWS: Final = 2_000_000
"""Users are counted exactly in up to this many rows, else by sketches."""
Count = Callable[[Tiling], float | None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A resolved question: the period, the other side of its comparison, and a page to which it is limited."""

    period: Period
    other: Period | None
    page: str | None


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
        return self.sources.site if self.asked.page is None else self.sources.pages

    @property
    def covered(self) -> tuple[Tiling, Coverage]:
        """The tiling of page views, and its coverage."""
        tiling, kind = self.tiling(self.levels), "page views" if self.asked.page is None else "pages"
        if reason := self.reasons.of(tiling, self.levels, kind):
            return tiling, Coverage(FigureState.UNKNOWN, tiling.start, tiling.start, reason=reason)
        return tiling, self.reasons.since_beginning(coverage_of(tiling))

    def tiling(self, levels: Sequence[WindowLevel]) -> Tiling:
        """Returns the tiling of the period."""
        return tiling_of(self.asked.period.start, self.asked.period.end, levels)

    def sum_of(self, name: str) -> Figure:
        """Returns the page views or the clicks."""
        kind = "page views" if self.asked.page is None else "pages"
        return self._figure(self.levels, kind, lambda tiling: self.store.sums(tiling.runs, self.asked.page)[name])

    def visitors(self) -> Figure:
        """Returns the different users: exact of few rows, else an estimate."""
        sources, page = self.sources, self.asked.page
        if page is not None:
            estimate = self._figure(
                sources.page_sketches, "visitors of a page", lambda tiling: self.store.estimate(tiling.runs, page)
            )
            return replace(estimate, is_exact=False)
        rows = self.store.user_rows(self.tiling(sources.users).runs) if sources.users else 0
        if sources.site_sketches and (not sources.users or rows > self.exact_rows):
            estimate = self._figure(
                sources.site_sketches, "visitors", lambda tiling: self.store.estimate(tiling.runs, None)
            )
            return replace(estimate, is_exact=False)
        return self._figure(sources.users, "visitors", lambda tiling: self.store.users(tiling.runs))

    def _figure(self, levels: Sequence[WindowLevel], kind: str, count: Count) -> Figure:
        """Returns a figure over the windows of `levels`; `count` returns its value of a tiling."""
        tiling = self.tiling(levels)
        if reason := self.reasons.of(tiling, levels, kind):
            return unknown(tiling.start, reason)
        coverage = self.reasons.since_beginning(coverage_of(tiling))
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
