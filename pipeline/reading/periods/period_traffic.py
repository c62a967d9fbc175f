"""The answer to a question about a period: figures, a series and breakdowns, each with its state. Pure."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from tidemark.pipeline.reading.periods.breakdowns import breakdowns_of
from tidemark.pipeline.reading.periods.figures import Bar, Breakdown, Coverage, Figure
from tidemark.pipeline.reading.periods.filters import Only
from tidemark.pipeline.reading.periods.instant_figures import NEW_VISITORS, InstantFigures
from tidemark.pipeline.reading.periods.period import Compare, Period, compared_with
from tidemark.pipeline.reading.periods.period_sources import Sources
from tidemark.pipeline.reading.periods.reasons import Reasons
from tidemark.pipeline.reading.periods.series import series_of
from tidemark.pipeline.reading.periods.store import Store
from tidemark.pipeline.reading.periods.window_figures import EXACT_ROWS, Asked, WindowFigures

_OF_VISITS: Final = 2
"""Parts of an answer that ask for visits; the others are asked meanwhile. Engines plan a statement on one core."""


@dataclass(frozen=True, slots=True)
class PeriodQuestion:
    """A question: a resolved period, a comparison, and filters."""

    period: Period
    compare: Compare = Compare.NONE
    only: Only = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PeriodTraffic:
    """The answer; times in milliseconds since 1970."""

    question: PeriodQuestion
    sources: Sources
    """The reports of which the answer is made."""
    coverage: Coverage
    """Coverage of the page views."""
    final_until: int
    """Every window of page views that ends at or before it is closed."""
    figures: Mapping[str, Figure]
    series: list[Bar]
    breakdowns: Mapping[str, Breakdown]


def compared_series(traffic: PeriodTraffic, store: Store, now: int) -> list[Bar]:
    """Returns the bars of the compared period, without visitors; empty without a comparison.

    Empty, too, with a day that the zone skipped. `now` (ms) is the clock.
    """
    question, sources = traffic.question, traffic.sources
    other = compared_with(question.period, question.compare)
    if other is None:
        return []
    reasons = Reasons(other, sources, now)
    try:
        return series_of(WindowFigures(Asked(other, None, question.only), sources, store, reasons), has_visitors=False)
    except ValueError:  # the figures then are not compared, either
        return []


def traffic_of(
    question: PeriodQuestion, sources: Sources, store: Store, now: int, exact_rows: int = EXACT_ROWS
) -> PeriodTraffic:
    """Returns the answer from the published windows in `store`.

    `now` (ms) is the clock, which separates a period that has not started from an empty period; no state uses it.
    """
    asked = Asked(question.period, compared_with(question.period, question.compare), question.only)
    reasons = Reasons(question.period, sources, now)
    windows = WindowFigures(asked, sources, store, reasons, exact_rows)
    instants = InstantFigures(asked, sources, store, reasons)
    with ThreadPoolExecutor(_OF_VISITS) as pool:
        visits = pool.submit(instants.visits)
        breakdowns = pool.submit(breakdowns_of, windows, instants, visits.result)
        counts, visitors, new = windows.counts(), windows.visitors(), instants.new_visitors()
        series = series_of(windows)
    of_visits = visits.result()
    tiling, coverage = windows.covered
    return PeriodTraffic(
        question=question,
        sources=sources,
        coverage=coverage,
        final_until=max(tiling.start, tiling.final_until),
        figures={
            "visitors": visitors,
            "visits": of_visits["visits"],
            "page_views": counts["page_views"],
            "clicks": counts["clicks"],
            "bounce_rate": of_visits["bounce_rate"],
            "visit_seconds": of_visits["visit_seconds"],
            NEW_VISITORS: new,
        },
        series=series,
        breakdowns=breakdowns.result(),
    )
