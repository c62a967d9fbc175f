"""One run: pace the simulator by a clock and send what it yields, until bounded or stopped."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

from producers.corrupt import corrupt
from producers.delivery import Delivering
from producers.encode import encode
from producers.simulate import Batch, Simulator
from producers.tally import Tally

# Paced events leave in bundles of this length: a step for each few would cost a core.
_BUNDLE_S = 0.02


class Sink(Protocol):
    """Where a run sends to; `Publisher` is one."""

    def send(self, keys: Sequence[bytes], values: Sequence[bytes | None], partitions: Sequence[int]) -> None:
        """Queue records."""

    def wait(self, seconds: float) -> None:
        """Let at most this much time pass."""


@dataclass(frozen=True)
class Pace:
    """How fast, how long and when in event time.

    `rate` is events per second of wall time, 0 for as fast as possible. Without `event_rate`
    event time is the wall clock; with it, event time begins at the simulator's start and advances
    by a second per `event_rate` events, but never past the wall clock, where it would be future.
    """

    rate: float
    events: int | None = None
    duration_ms: int | None = None
    event_rate: float | None = None

    def due(self, elapsed_ms: int, done: int, sent: int, at_most: int) -> int:
        """How many acts to simulate now; `done` acts are simulated, `sent` of them were heard."""
        behind = int(elapsed_ms * self.rate / 1000) - done if self.rate else at_most
        if behind < self.rate * _BUNDLE_S:
            return 0
        left = at_most if self.events is None else self.events - sent
        return min(behind, left, at_most)

    def over(self, elapsed_ms: int, sent: int) -> bool:
        """Whether a bound of the run is reached."""
        if self.events is not None and sent >= self.events:
            return True
        return self.duration_ms is not None and elapsed_ms >= self.duration_ms

    def event_clock(self, start_ms: int, done: int, now_ms: int) -> float:
        """The event time after `done` acts; `start_ms` is where event time began."""
        if self.event_rate is None:
            return now_ms
        return min(start_ms + done / self.event_rate * 1000, now_ms)


@dataclass(frozen=True)
class Resume:
    """`done_before` acts were done with by an earlier run: they are simulated and not sent."""

    done_before: int = 0
    delivering: Delivering = lambda _: nullcontext()


def run(
    pace: Pace,
    simulator: Simulator,
    sink: Sink,
    tally: Tally,
    *,
    now_ms: Callable[[], int],
    stopped: Callable[[], bool],
    resume: Resume | None = None,
) -> None:
    """Send until the pace says it is over or `stopped()`; the caller then waits for delivery."""
    resume = resume or Resume()
    keys = [user.encode() for user in simulator.user_ids]
    for done, batch in _batches(pace, simulator, sink, now_ms, stopped):
        tally.add(batch)
        if done <= resume.done_before:
            continue
        with resume.delivering(done):
            sink.send(
                [keys[user] for user in batch.users.tolist()],
                corrupt(encode(batch.events), batch.kinds),
                batch.partitions.tolist(),
            )


def _batches(
    pace: Pace, simulator: Simulator, sink: Sink, now_ms: Callable[[], int], stopped: Callable[[], bool]
) -> Iterator[tuple[int, Batch]]:
    """Batches, each with the number of acts done after it."""
    began = now_ms()
    done, sent, clock = 0, 0, float(simulator.start_ms)
    while not stopped() and not pace.over((now := now_ms()) - began, sent):
        due = pace.due(now - began, done, sent, simulator.largest_step)
        if due == 0:
            sink.wait(_BUNDLE_S)
            continue
        done += due
        before, clock = (clock, max(clock, pace.event_clock(simulator.start_ms, done, now)))
        batch = simulator.step(due, before, clock, now)
        sent += len(batch)
        yield done, batch
