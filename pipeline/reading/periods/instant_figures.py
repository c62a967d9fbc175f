"""Figures of instants: visits that began, and users who were first seen, in a period. Pure.

They can be cut at any time that the watermark has passed, so they follow no windows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Final

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.reading.periods.comparison import cut_of
from tidemark.pipeline.reading.periods.figures import Compared, Coverage, Figure, FigureState, unknown_coverage
from tidemark.pipeline.reading.periods.filters import Only, visit_filter
from tidemark.pipeline.reading.periods.period_sources import EXIT_PAGE, ReportProgress, Sources, Visits
from tidemark.pipeline.reading.periods.reasons import Reasons
from tidemark.pipeline.reading.periods.store import Store, VisitSums
from tidemark.pipeline.reading.periods.window_figures import Asked, unknown_side

MINUTE_MS: Final = 60_000
OF_VISITS: Final = ("visits", "bounce_rate", "visit_seconds")
NEW_VISITORS: Final = "new_visitors"
Measure = Callable[[int, int, int], Mapping[str, Figure]]
"""Returns figures of instants from a time until another one, in a period that ends at a third; milliseconds."""


@dataclass(frozen=True, slots=True)
class InstantFigures:
    """Computes the figures of a question."""

    asked: Asked
    sources: Sources
    store: Store
    reasons: Reasons

    def visits(self) -> Mapping[str, Figure]:
        """Returns the figures of visits that began in the period."""
        visits = self.sources.visits
        if visits is None:
            return self._unknown(OF_VISITS, self.reasons.no_report("visits"))
        only, reason = visit_filter(self.asked.only, visits)
        if reason:
            return self._unknown(OF_VISITS, reason)
        sums_of = cache(lambda start, until: self.store.visits(visits, start, until, only))
        return self._figures(OF_VISITS, visits.progress, partial(self._measured, visits, only, sums_of))

    def new_visitors(self) -> Figure:
        """Returns the users whose first event of all is in the period."""
        totals, names = self.sources.totals, (NEW_VISITORS,)
        if self.asked.only:
            reason = f"new visitors are known of the whole site only: leave out {' and '.join(self.asked.only)}"
            return self._unknown(names, reason)[NEW_VISITORS]
        if totals is None:
            return self._unknown(names, self.reasons.no_report("new visitors"))[NEW_VISITORS]

        def measured(start: int, until: int, end: int) -> Mapping[str, Figure]:
            closes_at = self.sources.too_late_at(end - 1)
            coverage = _covered(start, until, end, closes_at, totals.until)
            return {NEW_VISITORS: Figure(self.store.new_users(start, until), coverage)}

        return self._figures(names, totals, measured)[NEW_VISITORS]

    def covered(self, progress: ReportProgress) -> tuple[int, int]:
        """Returns the part of the period, to the minute, that is before the watermark of `progress`."""
        period = self.asked.period
        until = progress.until - progress.until % MINUTE_MS
        return max(period.start, progress.since), min(until, period.end)

    def _figures(self, names: tuple[str, ...], progress: ReportProgress, measure: Measure) -> Mapping[str, Figure]:
        period, other = self.asked.period, self.asked.other
        start, until = self.covered(progress)
        if reason := self.reasons.of_span(start, until):
            return self._unknown(names, reason)
        own = {
            name: replace(figure, coverage=self.reasons.of_part(figure.coverage, period.start))
            for name, figure in measure(start, until, period.end).items()
        }
        if other is None:
            return own
        reason = self.reasons.of_other_side(other.start, start) or self._removed(other.start, progress)
        cut = None if reason else cut_of(until, period, other, [_minute_before], lambda _: True)
        if cut is None:
            side = unknown_side(other, reason or self.reasons.no_cut())
            return {name: replace(figure, compared=side) for name, figure in own.items()}
        theirs, mine = measure(other.start, cut.other, cut.other), measure(period.start, cut.own, cut.own)
        return {
            name: replace(
                figure,
                compared=Compared(
                    theirs[name].value,
                    mine[name].value,
                    cut.own,
                    other.start,
                    cut.other,
                    theirs[name].coverage.state,
                ),
            )
            for name, figure in own.items()
        }

    def _removed(self, start: int, progress: ReportProgress) -> str:
        return "" if progress.since <= start else self.reasons.no_cut()

    def _unknown(self, names: tuple[str, ...], reason: str) -> Mapping[str, Figure]:
        return dict.fromkeys(names, Figure(None, unknown_coverage(self.asked.period.start, reason)))

    def _measured(
        self, visits: Visits, only: Only, sums_of: Callable[[int, int], VisitSums], start: int, until: int, end: int
    ) -> Mapping[str, Figure]:
        sums = sums_of(start, until)
        ended, lateness_ms = sums.visits - sums.going, visits.report.allowed_lateness_ms
        # An event of the span is accepted until its own window, of the length of the gap, is closed.
        last_end = end - 1 + visits.gap_ms
        is_closed = visits.progress.closed >= last_end
        closes_at = min(last_end + lateness_ms, visits.progress.until if is_closed else rules.NEVER)
        began = _covered(start, until, end, closes_at, visits.progress.until)
        of_ended = _of_ended(began, sums, lateness_ms)
        going: dict[str, float | None] = {"still_going": sums.going}
        by_exit = EXIT_PAGE in only  # a visit that is still going may leave from any page
        return {
            "visits": Figure(ended if by_exit else sums.visits, of_ended if by_exit else began, more=going),
            "bounce_rate": Figure(sums.bounced / ended if ended else None, of_ended, more=going),
            "visit_seconds": Figure(
                sums.median_s, of_ended, more={"mean": sums.mean_s, "mean_page_views": sums.mean_views, **going}
            ),
        }


def _covered(start: int, until: int, end: int, closes_at: int | None, watermark: int) -> Coverage:
    """Returns the coverage of `[start, until)` in a period that ends at `end`: final once the watermark closes it."""
    if until < end:
        return Coverage(FigureState.SO_FAR, start, until)
    is_final = closes_at is not None and closes_at <= watermark
    return (
        Coverage(FigureState.FINAL, start, end) if is_final else Coverage(FigureState.COMPLETE, start, end, closes_at)
    )


def _of_ended(began: Coverage, sums: VisitSums, lateness_ms: int) -> Coverage:
    """Returns the coverage of what is known of ended visits only: it is as far as all of them have ended."""
    if began.state is FigureState.SO_FAR or sums.going:
        return Coverage(FigureState.SO_FAR, began.start, began.until)
    if began.state is FigureState.FINAL and not sums.unfinal:
        return began
    may_change_until = max(began.may_change_until or 0, sums.last_end + lateness_ms)
    return Coverage(FigureState.COMPLETE, began.start, began.until, may_change_until)


def _minute_before(time: int) -> int:
    return time - 1 - (time - 1) % MINUTE_MS
