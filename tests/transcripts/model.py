"""A reference model: the rules of event time, one event at a time, as plainly as they can be written.

It shares no code with the pipeline, so that no mistake is in both.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from tests.transcripts.transcript import (
    EPOCH,
    Counted,
    Report,
    Row,
    RowKey,
    Seen,
    Sent,
    Step,
    Tables,
    Totals,
    Transcript,
    milliseconds,
)
from tests.transcripts.windows import NONE, Window, is_sliding_count, sessions_of, windows_of


@dataclass
class Partition:
    """The model knows this of a partition."""

    heard_at: int
    newest: int = NONE


class Model:
    """Plays a transcript's steps; `clock` is the service's, in milliseconds.

    `floors` hold the end up to which the windows of each report, even a removed report, were closed at the last start:
    these windows stay closed, whatever later settings say.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.clock: int = transcript.value("clock")
        self.partitions = [Partition(self.clock) for _ in range(transcript.value("partitions"))]
        self.unread = list[Sent]()
        self.batch = EPOCH
        self.watermark = NONE
        self.moved = list[tuple[int, int]]()  # every watermark, with the batch that reached it
        self.floors = dict.fromkeys((report.name for report in transcript.reports), NONE)
        self.counted = defaultdict[str, list[Counted]](list)  # by report
        self.users = defaultdict[str, list[Counted]](list)  # by user, what counts in some report
        self.windows = defaultdict[tuple[str, RowKey], list[Window]](list)  # by report and key
        self.slid = defaultdict[tuple[str, RowKey], list[Counted]](list)  # by report and key, of counts that slide
        self.ids = dict[str, Counted]()  # the event that counted last with an id
        self.remembering = (transcript, self.floors)  # of the last epoch with a batch
        self.duplicates = 0
        self.totals: dict[str, dict[RowKey, Row]] = {transcript.totals.name: {}} if transcript.totals else {}

    def play(self, step: Step) -> Seen:
        """One batch, or a tick if nothing was sent or nothing is to be read."""
        before = self.duplicates
        dead = self.take(step)
        watermark = None if self.watermark == NONE else self.watermark
        return Seen(watermark, self.tables(), sorted(dead), self.duplicates - before)

    def take(self, step: Step) -> list[tuple[str, int, str]]:
        """Like `play`, but returns the rejected events with their reasons."""
        if step.restart:
            self.restart(step)
        self.arrive(step)
        dead = self._read(step.cut) if step.reads else []
        before, self.watermark = self.watermark, max(self.watermark, self._reached())  # it never goes back
        if self.watermark != before:
            self.batch += not step.reads
            self.moved.append((self.watermark, self.batch))
        self._write_totals(before)
        return dead

    def tables(self) -> Tables:
        """The whole of every table."""
        reports = {name: self._published(report) for name, report in self.transcript.every_report.items()}
        return reports | self.totals

    def is_idle(self, number: int) -> bool:
        """Whether a partition was silent for long and has nothing to read."""
        silent_ms = self.clock - self.partitions[number].heard_at
        is_read = all(event.partition != number for event in self.unread)
        return is_read and silent_ms >= self.transcript.milliseconds("idle_timeout")

    def closed_until(self, report: Report) -> int:
        """Windows that end no later have closed."""
        return max(self.floors[report.name], self.watermark - report.allowed_lateness_ms)

    def arrive(self, step: Step) -> None:
        """Time passes, and events are on the topic."""
        self.clock += step.wait_ms
        self.unread += step.send

    def restart(self, step: Step) -> None:
        """Closed windows stay closed, and times whose meaning has changed are forgotten."""
        was, now = self.transcript, self.transcript.restarted(step.changes)
        keeps = all(transcript.value("deduplicate") != "off" for transcript in (was, now))
        # A forgotten id stays forgotten, whatever lateness is allowed later; an epoch without a batch forgets no id.
        if self.batch % EPOCH:
            self.remembering = (was, self.floors)
        newest_floors = self.floors
        self.transcript, self.floors = self.remembering
        self.ids = {name: event for name, event in self.ids.items() if keeps and self._is_in_time(event)}
        self.transcript, self.floors = was, newest_floors
        closed = {report.name: self.closed_until(report) for report in was.reports}
        self.transcript = now
        names = {report.name for report in now.reports}
        for name in closed.keys() - names:
            closed[name] = max(closed[name], self.watermark)
            self._drop(name)
        lowest = min(self.closed_until(report) for report in was.reports)
        self.floors = dict.fromkeys(names, lowest) | self.floors | closed
        newest = [NONE if _measures(now) != _measures(was) else partition.newest for partition in self.partitions]
        self.partitions = [Partition(self.clock, time) for time in newest]
        self.batch = (self.batch // EPOCH + 1) * EPOCH
        self._write_totals(NONE)

    def _drop(self, name: str) -> None:
        """A report that goes keeps what it has shown, and forgets the rest."""
        self.counted[name] = []
        for place, windows in self.windows.items():
            if place[0] == name:
                self.slid.pop(place, None)
                windows[:] = [window for window in windows if window.is_shown(self.watermark)]

    def _read(self, cut: Mapping[int, int] | None) -> list[tuple[str, int, str]]:
        """One batch, by partition and offset: what it rejects, and why."""
        self.batch += 1
        events, self.unread = _split(self.unread, cut)
        return [(event.user, event.event_time, reason) for event in events if (reason := self._take(event))]

    def _take(self, event: Sent) -> str:
        """Why an event is a dead letter, or nothing."""
        partition = self.partitions[event.partition]
        partition.heard_at = self.clock
        time_of = self.transcript.value("of")
        time = event.time(time_of, self.clock)
        arrival = self._arrival(event.stamp)
        if time_of == "event" and time > arrival + self.transcript.milliseconds("max_future_skew"):
            return "future"
        if time_of != "processing" and time > self.clock + self._most_ahead():
            return "future"
        if event.meets(self.transcript.value("marker")):
            is_capped = self.transcript.value("max_ahead_of_clock") != "off" and time_of != "processing"
            partition.newest = max(partition.newest, min(time, arrival, self.clock) if is_capped else time)
        one = Counted(event, time, self.batch, self.watermark)
        if self._is_duplicate(one):
            self.duplicates += 1
            return ""
        in_time = [kept for report in self.transcript.reports for kept in self._count(one, report)]
        if any(in_time) and self.transcript.totals:
            self.users[event.user].append(one)
        if any(in_time) and self.transcript.value("deduplicate") != "off":
            self.ids[event.id] = one
        return "" if all(in_time) else "partly_late" if any(in_time) else "too_late"

    def _is_duplicate(self, one: Counted) -> bool:
        """Whether an event that would count has the id of one that did, and that might still come again."""
        first = self.ids.get(one.event.id) if one.event.id else None
        return first is not None and self._is_in_time(first) and self._is_in_time(one)

    def _is_in_time(self, one: Counted) -> bool:
        """Whether some window of an event has not closed by now."""
        return any(
            not Window(report, start, end, [now], []).has_closed(now)
            for report in self.transcript.reports
            for now in [replace(one, closed_until=self.closed_until(report))]
            for start, end in windows_of(one.time, report.window)
        )

    def _count(self, one: Counted, report: Report) -> list[bool]:
        """Whether each window of an event is open; only events of the report count."""
        one, among = replace(one, closed_until=self.closed_until(report)), self.counted[report.name]
        alone = [Window(report, start, end, [one], among) for start, end in windows_of(one.time, report.window)]
        open_ones = [window for window in alone if not window.has_closed(one)]
        if open_ones and one.event.meets(report.where):
            among.append(one)
            windows = self.windows[report.name, report.key_of(one.event)]
            if is_sliding_count(report.window):
                windows += self._slide(one, report)
                return [True]
            for new in open_ones:
                new.late_events = int(new.has_fired(one.watermark))
                for old in [window for window in windows if window.takes(new)]:
                    windows.remove(old)
                    new.join(old)
                windows.append(new)
        return [window in open_ones for window in alone]

    def _slide(self, one: Counted, report: Report) -> list[Window]:
        """Returns the window of the last events of a key, if the event is a `slide`-th one, which ends it."""
        events = self.slid[report.name, report.key_of(one.event)]
        events.append(one)
        if len(events) % report.window["slide"]:
            return []
        last = events[-report.window["count"] :]
        times = [entry.time for entry in last]
        return [Window(report, min(times), max(times) + 1, last, [])]

    def _arrival(self, stamp: int) -> int:
        """The Kafka timestamp, or the clock if that is no time, or too far from the clock to be true."""
        limit = self.transcript.value("max_age")
        is_near = limit == "off" or abs(stamp - self.clock) <= milliseconds(limit)
        return stamp if is_near and 0 < stamp < 253_402_300_800_000 else self.clock

    def _most_ahead(self) -> int:
        """How far ahead of the clock a time that counts may be."""
        most = self.transcript.value("max_ahead_of_clock")
        return -NONE if most == "off" else milliseconds(most)

    def _reached(self) -> int:
        """The lowest of the active partitions, one of which may have had no event; or what the clock says."""
        strategy, bound = self.transcript.value("strategy"), self.transcript.milliseconds("bound")
        if strategy == "time_lag":
            return self.clock - self.transcript.milliseconds("lag")
        active = [partition.newest for number, partition in enumerate(self.partitions) if not self.is_idle(number)]
        if not active:  # those that were heard of last were the last to become idle
            active = [
                one.newest
                for one in self.partitions
                if all(one.heard_at >= other.heard_at for other in self.partitions)
            ]
        if (
            all(map(self.is_idle, range(len(self.partitions))))
            and self.transcript.value("all_idle") == "advance"
            and self.watermark != NONE
        ):
            return self.clock - bound
        return min(active, default=NONE) - bound * int(strategy == "bounded")

    def _published(self, report: Report) -> dict[RowKey, Row]:
        """Every window that has fired, or is full."""
        return report.table(
            ((*key, one.start, one.end), self._row(one, key))
            for (name, key), windows in self.windows.items()
            for one in windows
            if name == report.name and one.is_shown(self.watermark)
        )

    def _row(self, window: Window, key: RowKey) -> Row:
        """Returns the row of a window; its batch is the last that fired, changed or filled it."""
        fired = [batch for watermark, batch in self.moved if window.has_fired(watermark)][:1]
        begun = self._sessions_begun(window, key) if "sessions_begun" in window.report.measures else 0
        return Row.of(window.events, window.report.columns, fired, late_events=window.late_events, sessions_begun=begun)

    def _sessions_begun(self, window: Window, key: RowKey) -> int:
        """How many sessions begin in a window with its key, if events count that came before it closed."""
        report = window.report
        events = [event for event in window.among if not window.has_closed(event)]
        begun = sessions_of(events, report.session_gap_ms, report.keys)
        return sum(window.start <= entry.time < window.end and report.key_of(entry.event) == key for entry in begun)

    def _write_totals(self, before: int) -> None:
        """Anew, if the watermark has come from there past the end of a stretch."""
        totals = self.transcript.totals
        if totals:
            self.totals.setdefault(totals.name, {})
            if before // totals.every_ms < self.watermark // totals.every_ms:
                self.totals[totals.name] = self.totals_of(totals)

    def totals_of(self, totals: Totals) -> dict[RowKey, Row]:
        """Returns the totals of every user."""
        return {
            (user,): Row.of(events, totals.columns, sessions=len(sessions_of(events, totals.gap_ms)))
            for user, events in self.users.items()
        }


def _measures(transcript: Transcript) -> list[Any]:
    """Returns what the highest event time of a partition is a measure of."""
    is_capped = transcript.value("max_ahead_of_clock") != "off" and transcript.value("of") != "processing"
    return [is_capped, *(transcript.value(name) for name in ("of", "strategy", "marker"))]


def _split(unread: Sequence[Sent], cut: Mapping[int, int] | None) -> tuple[list[Sent], list[Sent]]:
    """Splits what a batch reads, by partition and offset, from what it leaves; without a cut it reads all."""
    lanes = groupby(sorted(unread, key=lambda event: event.partition), lambda event: event.partition)
    read, left = list[Sent](), list[Sent]()
    for partition, events in lanes:
        lane = list(events)
        most = len(lane) if cut is None else cut.get(partition, 0)
        read, left = read + lane[:most], left + lane[most:]
    return read, left
