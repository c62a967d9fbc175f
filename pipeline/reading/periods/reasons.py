"""Why a figure, or a part of its time, is unknown, in sentences. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.instants import moment
from tidemark.pipeline.reading.periods.figures import Coverage, FigureState
from tidemark.pipeline.reading.periods.local_days import local_date
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.period_sources import Sources
from tidemark.pipeline.reading.periods.tiling import Tiling, WindowLevel

_ADD: Final = {
    "page views": "no report has page views and clicks in windows of time: add [site] with a zone",
    "pages": "no report has page views by page in windows of time: add [site] with a zone",
    "visitors": "no report has users in windows of time: add [site] with a zone",
    "visitors of a page": "no report has unique_users by page: add [site] with a zone",
    "visits": "no report has visits with their durations: add [site] with a zone",
    "visits of a page": "no report has visits with their entry_page: add [site] with a zone",
    "new visitors": "the table user_totals is missing, or began after the first event: set totals.gap from the start",
}


@dataclass(frozen=True, slots=True)
class Reasons:
    """The sentences for a period, of the warehouse as of `sources`; `now` (ms) is the clock."""

    period: Period
    sources: Sources
    now: int

    def no_report(self, kind: str) -> str:
        """Returns which line of the settings would add the missing figure."""
        return _ADD[kind]

    def no_keys(self, keys: Sequence[str], what: str) -> str:
        """Returns which report would have `what` by all of these keys."""
        names = " and ".join(dict.fromkeys(keys))
        of_visits = self.sources.visits.texts if self.sources.visits else []
        only_visits = [name for name in keys if name in of_visits and name not in self.sources.further]
        if only_visits:
            return f"{what} by {names} are not counted: only visits have {' and '.join(dict.fromkeys(only_visits))}"
        limited = next((one for report in self.sources.timed for one in report.limited if one.name in keys), None)
        if limited:
            return (
                f"{what} by {names} are not known: a window has only the largest values of {limited.name}, "
                "and all others in one row. Read the report, or add a dimension without a top"
            )
        return f"no report has {what} by {names}: add a report with the {'keys' if ' ' in names else 'key'} {names}"

    def of(self, tiling: Tiling, levels: Sequence[WindowLevel], kind: str) -> str:
        """Returns why the windows of `levels` cover nothing of the period; empty if they cover some of it.

        `kind` is what the windows count, or the reason if there are no levels.
        """
        if not levels:
            return _ADD.get(kind, kind)
        if reason := self._of_period() or ("" if not tiling.runs else self._before(tiling.covered_until)):
            return reason
        if tiling.runs:
            return ""
        if all(level.since >= self.period.end for level in levels):
            return self._gone(min(level.since for level in levels))
        if min(level.ceiling(tiling.start + 1) for level in levels) > max(level.until for level in levels):
            return self._not_reached()
        return self._no_fit(tiling.start)

    def of_span(self, start: int, until: int) -> str:
        """Returns why nothing of `[start, until)` is known; empty if it is."""
        if reason := self._of_period():
            return reason
        if start >= self.period.end:
            return self._gone(start)
        return self._not_reached() if until <= start else self._before(until)

    def of_other_side(self, other_start: int, own_start: int) -> str:
        """Returns why a period that starts at `other_start` cannot be compared; empty if it can."""
        if own_start > self.period.start:
            return f"the period itself is known from {self.text(own_start)} on only"
        beginning = self.sources.beginning
        if beginning is not None and not self.sources.knows_first:
            return self._gone(beginning) if other_start < beginning else ""
        if beginning is None or other_start < beginning:
            return f"it starts before the first event, of {self.text(beginning)}"
        return ""

    @staticmethod
    def no_cut() -> str:
        """Returns why two sides cannot be compared although both started."""
        return "there is no bound yet at which both sides can be cut, or rows of the other side were removed"

    def of_part(self, coverage: Coverage, start: int) -> Coverage:
        """Returns the coverage of a span from `start` (ms) on; if a part of it is unknown for good, it says so.

        Times before the first event are unknown: nothing tells a silent site from one that was not counted.
        """
        if coverage.state is FigureState.UNKNOWN:
            return coverage
        first = self.sources.beginning if self.sources.knows_first else None
        begin = coverage.start if first is None else max(coverage.start, first)
        reasons = [] if begin <= start else [self._gone(begin) if begin == coverage.start else self._none_before(begin)]
        if coverage.state is FigureState.PARTIAL:
            reasons.append(self._no_fit(coverage.until))
        state = FigureState.PARTIAL if reasons and coverage.state is not FigureState.SO_FAR else coverage.state
        return replace(coverage, state=state, start=begin, reason="; ".join(reasons))

    def text(self, instant: int | None) -> str:
        """Returns an instant in the zone of the period, as ISO text."""
        return "none yet" if instant is None else iso(instant, self.period)

    def _of_period(self) -> str:
        if self.sources.beginning is None:
            return "no window with an event has been published yet"
        if self.period.end <= self.sources.beginning:
            return self._before(self.period.end)
        if local_date(self.now, self.period.zone) < self.period.first:
            return f"the period starts on {self.period.first}, which is after today"
        return ""

    def _before(self, until: int) -> str:
        beginning = self.sources.beginning
        if beginning is None or until > beginning:
            return ""
        is_first = self.sources.knows_first
        return f"it is before the first event, of {self.text(beginning)}" if is_first else self._gone(beginning)

    def _gone(self, since: int) -> str:
        return f"times before {self.text(since)} are unknown: rows were removed by age, or the report was added later"

    def _none_before(self, first: int) -> str:
        return f"times before the first event, of {self.text(first)}, are unknown"

    def _no_fit(self, start: int) -> str:
        return (
            f"no windows of the reports fit the days of {self.period.zone.key} from {self.text(start)} on: ask "
            "for the zone of the reports, or add reports with shorter windows"
        )

    def _not_reached(self) -> str:
        watermark = self.sources.watermark
        if watermark is None:
            return "no time is complete yet: too few events have been read"
        return f"nothing of the period is complete yet: events are complete until {self.text(watermark)}"


def iso(instant: int, period: Period) -> str:
    """Returns an instant (ms) as ISO text with the offset of the period's zone."""
    return local(instant, period).isoformat(timespec="milliseconds" if instant % 1000 else "seconds")


def local(instant: int, period: Period) -> datetime:
    """Returns an instant (ms) in the period's zone; in UTC where its year would be 10000."""
    try:
        return moment(min(instant, rules.LATEST_EVENT_MS)).astimezone(period.zone)
    except OverflowError:
        return moment(rules.LATEST_EVENT_MS)
