"""Asks a warehouse about a period: the words of a question are resolved, then the tables are read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from zoneinfo import ZoneInfo

from tidemark.command_line.counts import counted
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.periods.filters import OTHERS, Only, filter_names
from tidemark.pipeline.reading.periods.period import Compare, Incomparable, checked_period, compared_with, period_of
from tidemark.pipeline.reading.periods.period_sources import Sources
from tidemark.pipeline.reading.periods.period_tables import PeriodTables
from tidemark.pipeline.reading.periods.period_traffic import (
    PeriodQuestion,
    PeriodTraffic,
    traffic_of,
)
from tidemark.pipeline.reading.periods.table_progress import Beginnings, sources_in
from tidemark.pipeline.reading.periods.tiling import tumbles
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.settings.report_settings import zone_of

_LONGEST: Final = 8_192
_NO_ZONE: Final = ZoneInfo("UTC")


class BadQuestion(SetUpError):
    """A question that has no answer as it is; the text says what to change."""


class Uncompared(BadQuestion):
    """A question whose period has an answer, but no comparison; `why` is a sentence without its end."""

    def __init__(self, error: Incomparable) -> None:
        super().__init__(str(error))
        self.why = error.why


@dataclass(frozen=True, slots=True)
class Words:
    """A question in words: they are checked, but today and the default zone are still open."""

    period: str = "today"
    compare: Compare = Compare.NONE
    zone: ZoneInfo | None = None
    """None: the zone of the reports."""
    only: Only = field(default_factory=dict)
    """Filters; their names are checked when the reports are known."""

    @classmethod
    def checked(cls, period: str, compare: str, zone: str, only: Only) -> "Words":
        """Returns the words of a question. Raises BadQuestion with the allowed forms; an empty zone is the default."""
        if compare not in tuple(Compare):
            raise BadQuestion(f"compare is {compare[:40]!r}: write {', '.join(Compare)}")
        for name, value in only.items():
            _require_text(name, value)
        try:
            return cls(checked_period(period), Compare(compare), zone_of(zone) if zone else None, only)
        except ValueError as error:
            raise BadQuestion(str(error)) from error


@dataclass(slots=True)
class Asker:
    """Asks one warehouse, and remembers since when its reports count."""

    _beginnings: Beginnings | None = field(default=None)

    def ask(self, words: Words, tables: CurrentTables, summary: LedgerSummary | None, now: int) -> PeriodTraffic | None:
        """Returns the answer at the clock `now` (ms); None before the first batch.

        Raises BadQuestion for a filter that no report has, and for a day that the zone skipped; Uncompared if that is
        the other side's.
        """
        if summary is None:
            return None
        sources = self.sources(tables, summary)
        _require_names(words.only, filter_names(sources))
        zone = words.zone or default_zone(summary.policy.reports)
        try:
            period = period_of(words.period, zone, now)
            compared_with(period, words.compare)
        except Incomparable as error:
            raise Uncompared(error) from error
        except ValueError as error:
            raise BadQuestion(str(error)) from error
        question = PeriodQuestion(period, words.compare, words.only)
        return traffic_of(question, sources, PeriodTables(tables), now)

    def sources(self, tables: CurrentTables, summary: LedgerSummary) -> Sources:
        """Returns the sources of the warehouse."""
        sources, self._beginnings = sources_in(tables, summary, self._beginnings)
        return sources


def _require_text(name: str, value: str) -> None:
    """Raises BadQuestion if the value of a filter cannot be that of an event."""
    if len(value) > _LONGEST:
        raise BadQuestion(f"{name[:40]} has {counted(len(value), 'character')}: at most {_LONGEST:,} are allowed")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise BadQuestion(f"{name[:40]} is not valid UTF-8: write it as the events have it")


def _require_names(only: Only, known: Sequence[str]) -> None:
    """Raises BadQuestion for a filter that is not `known`."""
    for name in only:
        if name not in known:
            names = ", ".join([*OTHERS, *known])
            raise BadQuestion(f"there is no parameter {name[:40]!r}: the parameters are {names}")


def default_zone(reports: tuple[Report, ...]) -> ZoneInfo:
    """Returns the zone of the reports with calendar windows, of those with the fewest keys; UTC without any."""
    zones = [
        (len(report.keys), report.windows.zone)
        for report in reports
        if tumbles(report) and isinstance(report.windows, Calendar)
    ]
    return ZoneInfo(min(zones, key=lambda zone: zone[0])[1]) if zones else _NO_ZONE
