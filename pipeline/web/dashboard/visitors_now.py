"""Visitors now, by page: visits that have not ended, by the page of their latest event."""

from dataclasses import dataclass
from typing import Final

from tidemark.command_line.counts import counted, span_of
from tidemark.pipeline.reading.periods.filters import Only
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.period_sources import EXIT_PAGE, Sources
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.reading.window_names import moment_text

_MOST: Final = 10


@dataclass(frozen=True, slots=True)
class NowRow:
    """A page, and the number of visits that are on it."""

    page: str | None
    visits: int
    percent: float
    """The number in percent of the highest in the list."""


@dataclass(frozen=True, slots=True)
class VisitorsNow:
    """Visits that are going on; without rows if no visit is, or if `reason` says why they are unknown."""

    rows: list[NowRow]
    sentence: str
    rest: str
    reason: str


def visitors_now(tables: CurrentTables, sources: Sources, period: Period, only: Only) -> VisitorsNow | None:
    """Returns the visits of the whole site that are going on; None with filters, which it does not follow."""
    visits = sources.visits
    if only:
        return None
    if visits is None or EXIT_PAGE not in visits.texts:
        return VisitorsNow([], "", "", "no report has visits with their exit_page: add [site] with a zone")
    if sources.watermark is None:
        return VisitorsNow([], "", "", "no time is complete yet: too few events have been read")
    rows = tables.live(
        visits.report,
        f"{EXIT_PAGE} AS page, count(*) AS visits",
        "AND state = 'open' GROUP BY 1 ORDER BY 2 DESC, 1 NULLS LAST",
        (visits.progress.until, None),
        {},
        visits.progress.batch,
    )
    total, listed = sum(row["visits"] for row in rows), rows[:_MOST]
    until = moment_text(visits.progress.until, period.zone)
    sentence = (
        f"{counted(total, 'visit')} going on as of {until}, by the latest page: a visit ends {span_of(visits.gap_ms)} "
        "after its last event, and each event may change these numbers."
    )
    others = sum(row["visits"] for row in rows[_MOST:])
    return VisitorsNow(
        [NowRow(row["page"], row["visits"], round(100 * row["visits"] / listed[0]["visits"], 1)) for row in listed],
        sentence,
        f"{counted(len(rows) - len(listed), 'other')}: {others:,}" if others else "",
        "",
    )
