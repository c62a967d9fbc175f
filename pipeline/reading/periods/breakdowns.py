"""Breakdowns of a period: pages, entries, exits, users, and each further key. Pure: tables answer through `Store`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.periods.figures import Breakdown, Coverage, Figure, FigureState, Listed, unknown_coverage
from tidemark.pipeline.reading.periods.instant_figures import InstantFigures
from tidemark.pipeline.reading.periods.period_sources import ENTRY_PAGE, EXIT_PAGE, Visits
from tidemark.pipeline.reading.periods.store import Top
from tidemark.pipeline.reading.periods.tiling import WindowLevel
from tidemark.pipeline.reading.periods.window_figures import WindowFigures

MOST: Final = 10
"""Rows of a breakdown."""
_OF_VISITS: Final = {ENTRY_PAGE: "entries", EXIT_PAGE: "exits"}
"""The names of breakdowns of visits by measure; others are `visits_by_` and the name of the measure."""


def breakdowns_of(
    windows: WindowFigures, instants: InstantFigures, of_visits: Mapping[str, Figure], most: int = MOST
) -> dict[str, Breakdown]:
    """Returns the breakdowns that reports have, by name, without breakdowns that cannot be limited to the page.

    `of_visits` are the figures of visits.
    """
    sources, is_whole = windows.sources, windows.asked.page is None
    found = dict[str, Breakdown]()
    if sources.pages:
        found["pages"] = _with_visitors(windows, _by_key(windows, sources.pages, c.PAGE_URL, most, "pages"))
    if sources.visits is not None and (is_whole or ENTRY_PAGE in sources.visits.report.measures):
        found |= _by_text(instants, of_visits, sources.visits, most)
    if sources.users and is_whole:
        found["users"] = _by_key(windows, sources.users, c.USER_ID, most, "visitors")
    if is_whole:
        found |= {key: _by_key(windows, levels, key, most, "page views") for key, levels in sources.further.items()}
    return found


def _by_key(windows: WindowFigures, levels: Sequence[WindowLevel], key: str, most: int, kind: str) -> Breakdown:
    tiling = windows.tiling(levels)
    coverage = windows.coverage(tiling, levels, kind)
    if coverage.state is FigureState.UNKNOWN:
        return Breakdown([], {}, 0, coverage)
    top = windows.store.top(tiling.runs, key, most, windows.asked.page)
    return _breakdown(top, coverage)


def _with_visitors(windows: WindowFigures, breakdown: Breakdown) -> Breakdown:
    """Returns a breakdown by page with the visitors of each page, about; a visitor may be in several rows."""
    levels = windows.sources.page_sketches
    tiling = windows.tiling(levels)
    if breakdown.coverage.state is FigureState.UNKNOWN or not tiling.runs:
        return breakdown
    of_views = windows.tiling(windows.sources.pages)
    if (tiling.start, tiling.covered_until) != (of_views.start, of_views.covered_until):
        return breakdown
    visitors = windows.store.estimates(tiling.runs, [row.key for row in breakdown.rows if row.key is not None])
    rows = [Listed(row.key, {**row.values, "visitors": visitors.get(row.key or "")}) for row in breakdown.rows]
    return replace(breakdown, rows=rows, has_overlap=True)


def _by_text(
    instants: InstantFigures, of_visits: Mapping[str, Figure], visits: Visits, most: int
) -> dict[str, Breakdown]:
    """Returns the breakdowns of visits by name; exits are those of visits that have ended."""
    names = {text: _OF_VISITS.get(text, f"visits_by_{text}") for text in visits.texts}
    start, until = instants.covered(visits.progress)
    if reason := instants.reasons.of_span(start, until):
        return {name: Breakdown([], {}, 0, unknown_coverage(start, reason)) for name in names.values()}
    tops = instants.store.top_visits(visits, (start, until), most, instants.asked.page, (EXIT_PAGE,))
    coverages = {text: of_visits["bounce_rate" if text == EXIT_PAGE else "visits"].coverage for text in names}
    return {name: _breakdown(tops[text], coverages[text]) for text, name in names.items()}


def _breakdown(top: Top, coverage: Coverage) -> Breakdown:
    rows = [Listed(key, dict(values)) for key, values in top.rows]
    rest = {name: total - sum(values[name] for _, values in top.rows) for name, total in top.totals.items()}
    return Breakdown(rows, rest, top.values - len(rows), coverage)
