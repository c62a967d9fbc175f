"""The answer to a case by brute force from raw events, minute by minute, without the core's arithmetic of time.

A minute of a span belongs to the longest window that contains it, lies within the span, is known and has fired. The
span is covered up to the first minute without such a window.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from tests.periods.oracle_visits import NO_TIME, measured
from tests.periods.raw_case import MINUTE, Raw, RawCase
from tests.periods.wall_clock import Owner, WallClock
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.session import Sessions

_BEFORE_TODAY: Final = {"yesterday": 1, "7d": 7}


@dataclass(frozen=True)
class Cover:
    """The owners of the minutes of a span, from its start to the first minute without an owner."""

    start: int
    end: int
    until: int
    owners: tuple[Owner, ...]
    waits: bool
    """Whether a window goes on at `until` that has not fired yet."""


Value = Callable[[Cover], Any]


class Oracle(WallClock):
    """Answers one case."""

    def __init__(self, case: RawCase) -> None:
        self.case = case
        super().__init__(case.zone)
        self.watermark = NO_TIME if case.watermark is None else case.watermark
        self.first, self.last = self._dates()
        self.start, self.end = self.midnight(self.first), self.midnight(self.last + timedelta(days=1))
        self.days = (self.last - self.first).days + 1
        self.beginning, self.knows_first = self._beginning()

    # The question.

    def _dates(self) -> tuple[date, date]:
        today, period = self.wall(self.case.now).date(), self.case.period
        if period in _BEFORE_TODAY:
            return today - timedelta(days=_BEFORE_TODAY[period]), today - timedelta(days=1)
        if period == "today":
            return today, today
        if period == "month":
            return date(today.year, today.month, 1), today
        first, last = map(date.fromisoformat, period.split(".."))
        return first, last

    @property
    def other_first(self) -> date | None:
        first, back = self.first, timedelta(days=1)
        match self.case.compare:
            case "previous":
                return first - self.days * back
            case "week":
                weeks = 1
                while weeks * 7 < self.days:
                    weeks += 1
                return first - 7 * weeks * back
            case "year":
                return date(first.year - 1, first.month, min(first.day, 28) if first.month == 2 else first.day)
        return None

    # Windows.

    def timed(self, *keys: str, sketches: bool = False, any_keys: bool = False) -> list[Report]:
        return [
            report
            for report in self.case.reports
            if not isinstance(report.windows, Sessions)
            and not report.where
            and (any_keys or report.keys == keys)
            and (not sketches or "unique_users" in report.measures)
        ]

    def since(self, report: Report) -> int:
        return self.case.since.get(report.name, 0)

    def _best(self, reports: Iterable[Report], start: int) -> list[Report]:
        """Returns of equal windows those of the report with the fewest keys that knows `start`; the longest first.

        If no report knows it, those of the report that is known for longest.
        """
        alike = dict[object, list[Report]]()
        for report in sorted(reports, key=lambda report: (len(report.keys), self.since(report))):
            alike.setdefault(report.windows, []).append(report)
        best = [
            next((report for report in group if self.since(report) <= start), min(group, key=self.since))
            for group in alike.values()
        ]
        return sorted(best, key=lambda report: -getattr(report.windows, "size_ms", 0))

    def _waits(self, at: int, end: int, reports: Iterable[Report]) -> bool:
        following = [(report, self.window(report, at)) for report in reports if self.since(report) <= at < end]
        return any(owner.start == at and self.watermark < owner.end <= end for _, owner in following)

    def _owner(self, minute: int, span: tuple[int, int], reports: Sequence[Report]) -> Owner | None:
        for report in reports:
            owner = self.window(report, minute)
            is_inside = span[0] <= owner.start and owner.end <= span[1]
            if is_inside and self.since(report) <= owner.start and owner.end <= self.watermark:
                return owner
        return None

    def cover(self, start: int, end: int, reports: Iterable[Report]) -> Cover:
        best, owners = self._best(reports, start), list[Owner]()
        begin = start
        if best and all(self.since(report) > start for report in best):
            firsts = [self.window(report, self.since(report) - 1).end for report in best]
            begin = min(end, *firsts)
        until = begin
        while until < end and (owner := self._owner(until, (begin, end), best)):
            owners.append(owner)
            until = owner.end
        return Cover(begin, end, until, tuple(owners), self._waits(until, end, best))

    def _beginning(self) -> tuple[int | None, bool]:
        """Returns the start of the first window with an event, and whether a report has it that knows every time."""
        firsts = dict[str, int]()
        for report in self.timed(any_keys=True):
            events = self.case.events_of(report)
            owners = [self.window(report, event.time) for event in events]
            fired = [
                owner.start
                for owner, event in zip(owners, events, strict=True)
                if owner.end <= self.watermark
                and owner.start >= self.since(report)
                and event.is_in_time(owner.end, report.allowed_lateness_ms)
            ]
            if fired:
                firsts[report.name] = min(fired)
        whole = [first for name, first in firsts.items() if name not in self.case.since]
        return max(whole, default=min(firsts.values(), default=None)), bool(whole) or not firsts

    def covered_from(self, start: int) -> int:
        """Returns the first time that is known of a span whose windows are known from `start` on."""
        return max(start, self.beginning or 0) if self.knows_first else start

    # Values.

    def events(self, cover: Cover, page: str) -> list[Raw]:
        """The events that the owners of their minutes accepted."""
        starts, found = [owner.start for owner in cover.owners], list[Raw]()
        for event in self.case.events:
            if not cover.owners or not cover.start <= event.time < cover.until or page not in ("", event.page):
                continue
            owner = cover.owners[bisect_right(starts, event.time) - 1]
            is_erased = event.user == self.case.erased and "user_id" in owner.report.keys
            if not is_erased and event.is_in_time(owner.end, owner.report.allowed_lateness_ms):
                found.append(event)
        return found

    def is_closed(self, owner: Owner) -> bool:
        return owner.end + owner.report.allowed_lateness_ms <= self.watermark

    def state(self, cover: Cover) -> str:
        if not cover.owners:
            return "unknown"
        if cover.waits:
            return "so far"
        if cover.until < cover.end:
            return "partial"
        return "final" if all(map(self.is_closed, cover.owners)) else "complete"

    def is_known(self, until: int) -> bool:
        """Whether there is something before `until` that is after the first event."""
        has_started = self.first <= self.wall(self.case.now).date()
        return self.beginning is not None and has_started and until > self.beginning and self.end > self.beginning

    def figure(self, reports: Sequence[Report], value: Value) -> dict[str, Any]:
        cover = self.cover(self.start, self.end, reports)
        if not cover.owners or not self.is_known(cover.until):
            return {"value": None, "state": "unknown"}
        changes = [owner.end + owner.report.allowed_lateness_ms for owner in cover.owners if not self.is_closed(owner)]
        state, start = self.state(cover), self.covered_from(cover.start)
        return {
            "value": value(cover),
            "state": self.whole_or_partial(state, start),
            "from": start,
            "until": cover.until,
            "may_change_until": None if state == "so far" else max(changes, default=None),
            "compared": self._compared(cover, reports, value),
        }

    def whole_or_partial(self, state: str, start: int) -> str:
        """Returns the state of a figure that covers the time from `start` on."""
        return "partial" if state in ("final", "complete") and start > self.start else state

    # Comparison, by the wall clock of every minute.

    def _compared(self, cover: Cover, reports: Sequence[Report], value: Value) -> Any:
        if self.other_first is None:
            return None
        if cover.start > self.start or self._starts_before_beginning():
            return "unknown"
        other_start, _ = self._other_span()
        for end, other in self._cuts(cover.until):
            sides = self.cover(self.start, end, reports), self.cover(other_start, other, reports)
            is_same = sides[0].start == self.start and sides[1].start == other_start
            if is_same and all(side.owners and side.until == side.end for side in sides):
                return end, other, value(sides[0]), value(sides[1]), self.state(sides[1])
        return "unknown"

    def _starts_before_beginning(self) -> bool:
        return self.beginning is None or self._other_span()[0] < self.beginning

    def _other_span(self) -> tuple[int, int]:
        assert self.other_first is not None
        return self.midnight(self.other_first), self.midnight(self.other_first + timedelta(days=self.days))

    def _cuts(self, until: int) -> Iterable[tuple[int, int]]:
        """Yields the ends of both sides at which they have the same local times, the last first."""
        if until >= self.end:
            yield self.end, self._other_span()[1]
        assert self.other_first is not None
        for day in reversed(range(self.days)):
            own_day, other_day = self.first + timedelta(days=day), self.other_first + timedelta(days=day)
            if self.midnight(own_day) > until:
                continue
            own, other = self.prefixes(own_day), self.prefixes(other_day)
            for clock in range(24 * 60 - 1, -1, -1):
                end, other_cut = own.get(clock), other.get(clock)
                # The end must be a bound of the own side's clock, not a time that it skips.
                if end is None or other_cut is None or not self.start < end <= until:
                    continue
                wall = self.wall(end)
                if wall.date() == own_day and wall.hour * 60 + wall.minute == clock:
                    yield end, other_cut

    # The figures.

    def counts(self, is_click: bool, page: str) -> dict[str, Any]:
        reports = self.timed("page_url") if page else self.timed(any_keys=True)
        return self.figure(reports, lambda cover: sum(event.is_click is is_click for event in self.events(cover, page)))

    def visitors(self, page: str) -> dict[str, Any]:
        reports = self.timed("page_url", sketches=True) if page else self.timed("user_id")
        if not page and not reports:
            reports = self.timed(sketches=True)
        return self.figure(reports, lambda cover: len({event.user for event in self.events(cover, page)}))

    def visits(self) -> dict[str, dict[str, Any]]:
        names = ("visits", "bounce_rate", "visit_seconds")
        report = next((report for report in self.case.reports if isinstance(report.windows, Sessions)), None)
        if report is None:
            return {name: {"value": None, "state": "unknown"} for name in names}
        since = self.since(report)
        start, until = max(self.start, since), min(self.end, self.watermark - self.watermark % MINUTE)
        if start >= self.end or until <= start or not self.is_known(until):
            return {name: {"value": None, "state": "unknown"} for name in names}
        own = measured(self.case, report, start, until, self.end)
        for name in names:
            own[name]["from"], own[name]["until"] = self.covered_from(start), until
            own[name]["state"] = self.whole_or_partial(own[name]["state"], own[name]["from"])
            own[name]["compared"] = self._compared_visits(report, start, until, name)
        return own

    def _compared_visits(self, report: Report, start: int, until: int, name: str) -> Any:
        if self.other_first is None:
            return None
        other_start = self._other_span()[0]
        if start > self.start or self._starts_before_beginning() or self.since(report) > other_start:
            return "unknown"
        cut = next(iter(self._cuts(until)), None)
        if cut is None:
            return "unknown"
        mine = measured(self.case, report, self.start, cut[0], cut[0])[name]
        theirs = measured(self.case, report, other_start, cut[1], cut[1])[name]
        return *cut, mine["value"], theirs["value"], theirs["state"]
