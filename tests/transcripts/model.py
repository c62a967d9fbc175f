"""A reference model: the rules of event time, one event at a time, as plainly as they can be written.

It shares no code with the pipeline, so that one mistake cannot be in both.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from tests.transcripts.transcript import EPOCH, Report, Row, RowKey, Seen, Sent, Step, Transcript, milliseconds

QUARTER = milliseconds("15m")
DAY = milliseconds("1d")


@dataclass
class Partition:
    """What is known of a partition; `unread` is true while it has records that no batch has read."""

    heard_at: int
    newest: int | None = None
    unread: bool = False


@dataclass
class Window:
    """A window of a key, published or not; `batch` is the last that brought it an event."""

    start: int
    end: int
    page_views: int = 0
    clicks: int = 0
    late_events: int = 0
    batch: int = 0

    def join(self, other: "Window") -> None:
        """Two sessions become one, or an event comes to the window that it belongs to."""
        self.start, self.end = min(self.start, other.start), max(self.end, other.end)
        self.page_views, self.clicks = self.page_views + other.page_views, self.clicks + other.clicks
        self.late_events += other.late_events


@dataclass
class Model:
    """Plays a transcript's steps; `clock` is the service's, in milliseconds."""

    transcript: Transcript
    clock: int = field(init=False)
    watermark: int | None = None
    batch: int = EPOCH
    windows: dict[tuple[str, RowKey], list[Window]] = field(default_factory=lambda: defaultdict(list))
    behind: list[tuple[Sent, int]] = field(default_factory=list)
    """Events whose time the watermark had passed before their batch, and by how much."""
    moved: list[tuple[int, int]] = field(default_factory=list)
    """Every watermark, with the batch that reached it."""
    unread: list[Sent] = field(default_factory=list)
    partitions: list[Partition] = field(init=False)

    def __post_init__(self) -> None:
        self.clock = self.transcript.value("clock")
        self.partitions = [Partition(self.clock) for _ in range(self.transcript.value("partitions"))]

    def play(self, step: Step) -> Seen:
        """One batch, or a tick if nothing was sent or nothing is to be read."""
        if step.restart:
            self.batch = (self.batch // EPOCH + 1) * EPOCH
            self.partitions = [replace(partition, heard_at=self.clock) for partition in self.partitions]
        self.clock += step.wait_ms
        self.unread += step.send
        for event in step.send:
            self.partitions[event.partition].unread = True
        dead = self._read() if step.send and not step.unread else []
        before = self.watermark
        # It never goes back, whatever moves it.
        self.watermark = max((time for time in (before, self._reached()) if time is not None), default=None)
        if self.watermark is not None and self.watermark != before:
            self.batch += not step.send or step.unread
            self.moved.append((self.watermark, self.batch))
        return Seen(self.watermark, {one.name: self._published(one) for one in self.transcript.reports}, sorted(dead))

    def is_idle(self, partition: Partition) -> bool:
        """Whether a partition was silent for long and has nothing to read."""
        return not partition.unread and self.clock - partition.heard_at >= self.transcript.milliseconds("idle_timeout")

    def _read(self) -> list[tuple[str, int, str]]:
        """One batch of all that is there: what it rejects, and why."""
        self.batch += 1
        events, self.unread = self.unread, []
        return [(event.user, event.event_time, reason) for event in events if (reason := self._take(event))]

    def _take(self, event: Sent) -> str:
        """Why an event is a dead letter, or nothing."""
        partition = self.partitions[event.partition]
        partition.heard_at, partition.unread = self.clock, False
        time_of = self.transcript.value("of")
        time = {"event": event.event_time, "ingestion": event.stamp, "processing": self.clock}[time_of]
        if time_of == "event" and time > event.stamp + self.transcript.milliseconds("max_future_skew"):
            return "future"
        if holds(self.transcript.value("marker"), event):
            partition.newest = max(partition.newest or 0, time)
        if self.watermark is not None and time <= self.watermark:
            self.behind.append((event, self.watermark - time))
        late = [self._is_too_late(report, event, time) for report in self.transcript.reports]
        return "too_late" if all(late) else "partly_late" if any(late) else ""

    def _is_too_late(self, report: Report, event: Sent, time: int) -> bool:
        """Whether a report has closed all windows of an event; if not, and the event is one of its own, it counts."""
        windows = [window for window in windows_of(time, report.window) if not self._has_closed(window[1], report)]
        for start, end in windows if holds(report.where, event) else []:
            visits = int(event.act == "visit")
            fired = self.watermark is not None and self.watermark >= end
            self._count(report, event, Window(start, end, visits, 1 - visits, int(fired), self.batch))
        return not windows

    def _count(self, report: Report, event: Sent, new: Window) -> None:
        """An event joins its window, or whichever open sessions it meets: those that touch are one too."""
        windows = self.windows[report.name, tuple(event.value(key) for key in report.keys)]
        for old in list(windows):
            same = (old.start, old.end) == (new.start, new.end)
            meets = old.start <= new.end and new.start <= old.end if "gap" in report.window else same
            if meets and not self._has_closed(old.end, report):
                windows.remove(old)
                new.join(old)
        windows.append(new)

    def _has_closed(self, end: int, report: Report) -> bool:
        """By the watermark from before the batch."""
        return self.watermark is not None and self.watermark >= end + report.allowed_lateness_ms

    def _reached(self) -> int | None:
        """The lowest of the active partitions, unless one of them has had no event; or what the clock says."""
        strategy, bound = self.transcript.value("strategy"), self.transcript.milliseconds("bound")
        if strategy == "time_lag":
            return self.clock - self.transcript.milliseconds("lag")
        active = [partition.newest for partition in self.partitions if not self.is_idle(partition)]
        if not active and self.transcript.value("all_idle") == "advance" and self.watermark is not None:
            return self.clock - bound
        newest = [time for time in active if time is not None]
        return min(newest) - bound * (strategy == "bounded") if newest and len(newest) == len(active) else None

    def _published(self, report: Report) -> dict[RowKey, Row]:
        """Every window that the watermark has passed."""
        return {
            (*key, one.start, one.end): Row(one.page_views, one.clicks, one.late_events, self._published_by(one))
            for (name, key), windows in self.windows.items()
            for one in windows
            if name == report.name and self.watermark is not None and self.watermark >= one.end
        }

    def _published_by(self, window: Window) -> int:
        """The batch that fired a window, or changed it since."""
        return max(window.batch, next(batch for watermark, batch in self.moved if watermark >= window.end))


def holds(condition: str, event: Sent) -> bool:
    """Whether a condition such as `user_id = 'a'` or `page_url <> '/'` holds, or there is none."""
    if not condition:
        return True
    found = re.fullmatch(r"(\w+) (=|<>) '(.*)'", condition)
    assert found, f"the model does not understand {condition!r}"
    return (event.value(found[1]) == found[3]) is (found[2] == "=")


def windows_of(time: int, told: Mapping[str, str]) -> list[tuple[int, int]]:
    """Start and end of every window that a time belongs to; of a session what it would be with this event alone."""
    if "gap" in told:
        return [(time, time + milliseconds(told["gap"]))]
    size = milliseconds(told["size"])
    if "zone" in told:
        return [_by_calendar(time, size, told["zone"])]
    slide, offset = milliseconds(told.get("slide", told["size"])), milliseconds(told.get("offset", "0s"))
    last = (time - offset) // slide * slide + offset
    return [(start, start + size) for start in range(last, time - size, -slide)]


def _by_calendar(time: int, size: int, zone: str) -> tuple[int, int]:
    """The window around a time, found by looking at the clock of the zone every quarter of an hour."""
    start = time // QUARTER * QUARTER
    while not _begins(start, size, zone):
        start -= QUARTER
    end = start + QUARTER
    while not _begins(end, size, zone):
        end += QUARTER
    return start, end


def _begins(at: int, size: int, zone: str) -> bool:
    """Where the clock comes to the next part of the calendar, or shows the begin of one again."""
    (part, rest), (before, _) = (_part(at - ago, size, zone) for ago in (0, QUARTER))
    return part > before or (size < DAY and rest == 0)


def _part(at: int, size: int, zone: str) -> tuple[int, int]:
    """The number of the part since the first Monday of the calendar, and how long ago the clock showed its begin."""
    local = datetime.fromtimestamp(at / 1000, ZoneInfo(zone))
    return divmod((local.toordinal() - 1) * DAY + (local.hour * 60 + local.minute) * 60_000, size)
