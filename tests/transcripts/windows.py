"""The windows of the reference model: which there are, when they fire and close, and what comes together in one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.transcripts.transcript import Counted, Report
from tests.transcripts.zones import part_around

NONE = -(10**18)  # before every time: the initial watermark, and the newest event before any event


@dataclass
class Window:
    """A window of a key, published or not; `among` are the events of its report that it may know of."""

    report: Report
    start: int
    end: int
    events: list[Counted]
    among: list[Counted]
    late_events: int = 0

    def has_fired(self, watermark: int) -> bool:
        """Whether the watermark has come to its end; a count window knows no time."""
        return "count" not in self.report.window and watermark >= self.end

    def has_closed(self, one: Counted) -> bool:
        """Whether nothing changed it any more when an event came."""
        return self.has_fired(one.closed_until)

    def is_shown(self, watermark: int) -> bool:
        """Whether its table has it."""
        return self.has_fired(watermark) or self.is_full()

    def is_full(self) -> bool:
        """Whether it has its count of events; what slides is made when it has."""
        return is_sliding_count(self.report.window) or len(self.events) == self.report.window.get("count")

    def takes(self, new: "Window") -> bool:
        """Whether it is one with that of a new event: the same, an open session that touches it, a count not full."""
        if "gap" in self.report.window:
            touches = self.start <= new.end and new.start <= self.end
            return touches and not self.has_closed(new.events[0])
        return not self.is_full() if "count" in self.report.window else (self.start, self.end) == (new.start, new.end)

    def join(self, other: "Window") -> None:
        """Two sessions become one, or an event comes to the window that it belongs to."""
        self.start, self.end = min(self.start, other.start), max(self.end, other.end)
        self.events, self.late_events = self.events + other.events, self.late_events + other.late_events


def is_sliding_count(window: Mapping[str, Any]) -> bool:
    """Whether it has the last events of a key, and ends with each `slide`-th of them."""
    return "count" in window and window.get("slide", window["count"]) != window["count"]


def sessions_of(events: Sequence[Counted], gap_ms: int, keys: Sequence[str] = ()) -> list[Counted]:
    """With which events users' sessions begin; of several at one time with that of the lowest keys."""
    begun, latest, names = list[Counted](), defaultdict[str, int](lambda: NONE), sorted(keys)
    for one in sorted(events, key=lambda one: (one.time, [one.event.value(name) for name in names])):
        if one.time > latest[one.event.user] + gap_ms:
            begun.append(one)
        latest[one.event.user] = one.time
    return begun


def windows_of(time: int, window: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Start and end of every window that a time belongs to; of a session or count what it is with this event alone."""
    if window.keys() & {"gap", "count"}:
        return [(time, time + window.get("gap", 1))]
    size, slide, offset = window["size"], window.get("slide", window["size"]), window.get("offset", 0)
    if "zone" in window:
        return [part_around(time, size, window["zone"])]
    if "step" in window:
        begin = (time - offset) // size * size + offset
        return [(begin, end) for end in range(begin, begin + size + 1, window["step"]) if end > time]
    last = (time - offset) // slide * slide + offset
    return [(start, start + size) for start in range(last, time - size, -slide)]
