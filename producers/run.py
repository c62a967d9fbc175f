"""Runs the simulator at the pace of a clock and sends its batches, until a bound or a signal."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

from tidemark.producers.corrupt import corrupt
from tidemark.producers.delivery import DeliveryContext
from tidemark.producers.encode import Encode, encode
from tidemark.producers.simulate import Batch, Simulator
from tidemark.producers.tally import Tally

# Paced events are sent in bundles of this length: a step for every few events would occupy a core.
_BUNDLE_S = 0.02


class Sink(Protocol):
    """The receiver of a run's records; implemented by `Publisher`."""

    def send(self, keys: Sequence[bytes], values: Sequence[bytes | None], partitions: Sequence[int]) -> None:
        """Queues records."""

    def wait(self, seconds: float) -> None:
        """Waits at most `seconds`."""


@dataclass(frozen=True)
class Pace:
    """Rate and bounds of a run.

    `rate` is events per second of wall time, 0 for as fast as possible. Without `event_rate` event time is the wall
    clock; with it, event time begins at the simulator's start and advances by a second per `event_rate` events, but
    never past the wall clock, because the events would then be future events.
    """

    rate: float
    events: int | None = None
    duration_ms: int | None = None
    event_rate: float | None = None

    def acts_due(self, elapsed_ms: int, done: int, sent: int, at_most: int) -> int:
        """Returns how many acts to simulate now; `done` acts were simulated, `sent` events came from them."""
        due = int(elapsed_ms * self.rate / 1000) - done if self.rate else at_most
        if due < self.rate * _BUNDLE_S:
            return 0
        left = at_most if self.events is None else self.events - sent
        return min(due, left, at_most)

    def is_over(self, elapsed_ms: int, sent: int) -> bool:
        """Returns whether a bound of the run is reached."""
        if self.events is not None and sent >= self.events:
            return True
        return self.duration_ms is not None and elapsed_ms >= self.duration_ms

    def event_clock(self, start_ms: int, done: int, now_ms: int) -> float:
        """Returns the event time in ms after `done` acts, for a run whose event time began at `start_ms`."""
        if self.event_rate is None:
            return now_ms
        return min(start_ms + done / self.event_rate * 1000, now_ms)


@dataclass(frozen=True)
class Sending:
    """How batches are sent. The first `done_before` acts, of earlier runs of the name, are only simulated again."""

    done_before: int = 0
    delivering: DeliveryContext = lambda _: nullcontext()
    encoder: Encode = encode


def run(
    pace: Pace,
    simulator: Simulator,
    sink: Sink,
    tally: Tally,
    *,
    now_ms: Callable[[], int],
    stopped: Callable[[], bool],
    sending: Sending | None = None,
) -> None:
    """Sends until the pace is over or `stopped()`. Does not wait for acknowledgements."""
    sending = sending or Sending()
    keys = [user.encode() for user in simulator.user_ids]
    for done, batch in _batches(pace, simulator, sink, now_ms, stopped):
        tally.add(batch)
        if done <= sending.done_before:
            continue
        with sending.delivering(done):
            sink.send(
                [keys[user] for user in batch.users.tolist()],
                corrupt(sending.encoder(batch.events), batch.kinds),
                batch.partitions.tolist(),
            )


def _batches(
    pace: Pace, simulator: Simulator, sink: Sink, now_ms: Callable[[], int], stopped: Callable[[], bool]
) -> Iterator[tuple[int, Batch]]:
    """Yields batches, each with the number of acts simulated up to its end."""
    began = now_ms()
    done, sent, clock = 0, 0, float(simulator.start_ms)
    while not stopped() and not pace.is_over((now := now_ms()) - began, sent):
        due = pace.acts_due(now - began, done, sent, simulator.largest_step)
        if due == 0:
            sink.wait(_BUNDLE_S)
            continue
        done += due
        before, clock = (clock, max(clock, pace.event_clock(simulator.start_ms, done, now)))
        batch = simulator.step(due, before, clock, now)
        sent += len(batch)
        yield done, batch
