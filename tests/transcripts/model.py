"""A reference model: the rules of event time, one event at a time, as plainly as they can be written.

It shares no code with the pipeline, so that one mistake cannot be in both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.transcripts.transcript import Row, RowKey, Seen, Sent, Transcript


@dataclass
class Partition:
    """What is known of a partition that is always read to its end."""

    heard_at: int
    newest: int | None = None


@dataclass
class Cell:
    """A user in a window, published or not."""

    page_views: int = 0
    clicks: int = 0
    late_events: int = 0
    batch: int = 0


@dataclass
class Model:
    """Plays a transcript's steps; `clock` is the service's, in milliseconds."""

    transcript: Transcript
    clock: int
    watermark: int | None = None
    batch: int = 0
    cells: dict[RowKey, Cell] = field(default_factory=dict)
    partitions: list[Partition] = field(init=False)

    def __post_init__(self) -> None:
        self.partitions = [Partition(self.clock) for _ in range(self.transcript.partitions)]

    def play(self, sent: Sequence[Sent], wait_ms: int) -> Seen:
        """One batch, or a tick if nothing was sent."""
        self.clock += wait_ms
        before = self.watermark
        after = before
        dead = []
        if sent:
            self.batch += 1
            dead = [(event.user, event.event_time, reason) for event in sent if (reason := self._take(event, before))]
            after = self._advanced()
        else:
            after = self._advanced()
            self.batch += after != before
        self._fire(before, after)
        self.watermark = after
        return Seen(after, self._published(), sorted(dead))

    def _take(self, event: Sent, watermark: int | None) -> str:
        """Why an event is rejected, or nothing if it is counted."""
        partition = self.partitions[event.partition]
        partition.heard_at = self.clock
        time_of = self.transcript.text("of")
        time = {"event": event.event_time, "ingestion": event.stamp, "processing": self.clock}[time_of]
        if time_of == "event" and time > event.stamp + self.transcript.milliseconds("max_future_skew"):
            return "future"
        if self.transcript.text("marker") in ("", f"event_type = '{event.act}'"):
            partition.newest = max(partition.newest or 0, time)
        live = [window for window in self._windows(time) if watermark is None or watermark < self._closes(window)]
        for start, end in live:
            self._count(self.cells.setdefault((event.user, start, end), Cell()), event, end, watermark)
        return "" if live else "too_late"

    def _windows(self, time: int) -> list[tuple[int, int]]:
        """Start and end of every window that a time belongs to."""
        size, offset = self.transcript.milliseconds("window"), self.transcript.milliseconds("offset")
        slide = self.transcript.milliseconds("slide") if self.transcript.text("slide") else size
        last = (time - offset) // slide * slide + offset
        return [(start, start + size) for start in range(last, time - size, -slide)]

    def _closes(self, window: tuple[int, int]) -> int:
        return window[1] + self.transcript.milliseconds("allowed_lateness")

    def _count(self, cell: Cell, event: Sent, end: int, watermark: int | None) -> None:
        cell.page_views += event.act == "visit"
        cell.clicks += event.act == "click"
        if watermark is not None and watermark >= end:
            cell.late_events += 1
            cell.batch = self.batch

    def _advanced(self) -> int | None:
        """The watermark never goes back, whatever moves it."""
        reached = self._reached()
        return max((time for time in (reached, self.watermark) if time is not None), default=None)

    def _reached(self) -> int | None:
        """The lowest of the active partitions, unless one of them has had no event; or what the clock says."""
        strategy, bound = self.transcript.text("strategy"), self.transcript.milliseconds("bound")
        if strategy == "time_lag":
            return self.clock - self.transcript.milliseconds("lag")
        active = [partition.newest for partition in self.partitions if not self._is_idle(partition)]
        if not active and self.transcript.text("all_idle") == "advance" and self.watermark is not None:
            return self.clock - bound
        newest = [time for time in active if time is not None]
        if not active or len(newest) < len(active):
            return None
        return min(newest) - (bound if strategy == "bounded" else 0)

    def _is_idle(self, partition: Partition) -> bool:
        return self.clock - partition.heard_at >= self.transcript.milliseconds("idle_timeout")

    def _fire(self, before: int | None, after: int | None) -> None:
        for (_, _, end), cell in self.cells.items():
            if after is not None and after >= end and (before is None or before < end):
                cell.batch = self.batch

    def _published(self) -> dict[RowKey, Row]:
        return {
            key: Row(cell.page_views, cell.clicks, cell.late_events, cell.batch)
            for key, cell in self.cells.items()
            if cell.batch
        }
