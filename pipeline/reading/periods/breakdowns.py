"""Breakdowns of a period: pages, entries, exits, users, and each further key. Pure: tables answer through `Store`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.periods.figures import Breakdown, Coverage, Figure, FigureState, Listed, unknown_coverage
from tidemark.pipeline.reading.periods.filters import visit_filter
from tidemark.pipeline.reading.periods.instant_figures import InstantFigures
from tidemark.pipeline.reading.periods.period_sources import ENTRY_PAGE, EXIT_PAGE, Visits
from tidemark.pipeline.reading.periods.store import Top
from tidemark.pipeline.reading.periods.tiling import WindowLevel
from tidemark.pipeline.reading.periods.window_figures import WindowFigures

MOST: Final = 10
"""Rows of a breakdown."""
OF_VISITS: Final = {ENTRY_PAGE: "entries", EXIT_PAGE: "exits"}
"""The names of breakdowns of visits by measure; others are `visits_by_` and the name of the measure."""
FiguresOfVisits = Callable[[], Mapping[str, Figure]]
VISITS_BY: Final = "visits_by_"


def breakdowns_of(
    windows: WindowFigures, instants: InstantFigures, of_visits: FiguresOfVisits, most: int = MOST
) -> dict[str, Breakdown]:
    """Returns the breakdowns that reports have, by name; those that the filters leave without a report are unknown.

    `of_visits` returns the figures of visits, for which it may wait.
    """
    sources, found = windows.sources, dict[str, Breakdown]()
    if sources.pages:
        found["pages"] = _pages(windows, most)
    if visits := sources.visits:
        names = {text: OF_VISITS.get(text, f"{VISITS_BY}{text}") for text in visits.texts}
        found |= {
            names[text]: breakdown
            for text, breakdown in _by_text(instants, of_visits, visits, visits.texts, most).items()
        }
    if sources.users:
        found["users"] = _users(windows, instants, of_visits, most)
    return found | {key: _by_key(windows, windows.by(key), key, most) for key in sources.further}


def filter_of(breakdown: str) -> str:
    """Returns the name of the filter that the rows of a breakdown set."""
    names = {"pages": c.PAGE_URL, "users": c.USER_ID, **{name: text for text, name in OF_VISITS.items()}}
    return names.get(breakdown, breakdown.removeprefix(VISITS_BY))


def _by_key(windows: WindowFigures, levels: Sequence[WindowLevel], key: str, most: int) -> Breakdown:
    tiling = windows.tiling(levels)
    coverage = windows.coverage(tiling, levels, windows.unknown_by(key))
    if coverage.state is FigureState.UNKNOWN:
        return Breakdown([], {}, 0, coverage)
    return _breakdown(windows.store.top(tiling.runs, key, most, windows.asked.only), coverage)


def _users(windows: WindowFigures, instants: InstantFigures, of_visits: FiguresOfVisits, most: int) -> Breakdown:
    """Returns the users by page views; by visits if only the report of visits can be filtered so."""
    levels, visits = windows.by(c.USER_ID), windows.sources.visits
    if not levels and visits is not None and not visit_filter(windows.asked.only, visits)[1]:
        return _by_text(instants, of_visits, visits, [c.USER_ID], most)[c.USER_ID]
    return _by_key(windows, levels, c.USER_ID, most)


def _pages(windows: WindowFigures, most: int) -> Breakdown:
    """Returns the pages with the visitors of each, about; a visitor may be in several rows."""
    levels = windows.by(c.PAGE_URL)
    breakdown, sketches = _by_key(windows, levels, c.PAGE_URL, most), windows.sources.page_sketches
    tiling = windows.tiling(sketches)
    is_filtered = bool({*windows.asked.only} - {c.PAGE_URL})
    if is_filtered or breakdown.coverage.state is FigureState.UNKNOWN or not tiling.runs:
        return breakdown
    of_views = windows.tiling(levels)
    if (tiling.start, tiling.covered_until) != (of_views.start, of_views.covered_until):
        return breakdown
    visitors = windows.store.estimates(tiling.runs, [row.key for row in breakdown.rows if row.key is not None])
    rows = [Listed(row.key, {**row.values, "visitors": visitors.get(row.key or "")}) for row in breakdown.rows]
    return replace(breakdown, rows=rows, has_overlap=True)


def _by_text(
    instants: InstantFigures, of_visits: FiguresOfVisits, visits: Visits, texts: Sequence[str], most: int
) -> dict[str, Breakdown]:
    """Returns the breakdown of visits by each of `texts`; exits are those of visits that have ended."""
    start, until = instants.covered(visits.progress)
    only, reason = visit_filter(instants.asked.only, visits)
    if reason := reason or instants.reasons.of_span(start, until):
        return {text: Breakdown([], {}, 0, unknown_coverage(start, reason)) for text in texts}
    ended = [text for text in texts if EXIT_PAGE in (text, *only)]
    tops = instants.store.top_visits(visits, texts, (start, until), most, only, ended)
    figures = of_visits()
    coverages = {text: figures["bounce_rate" if text in ended else "visits"].coverage for text in texts}
    return {text: _breakdown(tops[text], coverages[text]) for text in texts}


def _breakdown(top: Top, coverage: Coverage) -> Breakdown:
    rows = [Listed(key, dict(values)) for key, values in top.rows]
    rest = {name: total - sum(values[name] for _, values in top.rows) for name, total in top.totals.items()}
    return Breakdown(rows, rest, top.values - len(rows), coverage, is_about=top.is_about)
