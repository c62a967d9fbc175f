"""Computes how long after they were due windows were visible, from arrivals and sightings; no broker or clock."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import BenchmarkError
from benchmarks.freshness.figures import Span, percentile

Ints = NDArray[np.int64]
_NEVER = np.iinfo(np.int64).max


class Arrivals(NamedTuple):
    """The events of a partition in order of offset: event times and Kafka timestamps in milliseconds."""

    event_times: Ints
    timestamps: Ints


class Sighting(NamedTuple):
    """Rows that a reader has read, `at` milliseconds since 1970: the sum of their counts by end of their window."""

    at: int
    events: Counter[int]


@dataclass(frozen=True)
class Visibility:
    """The figures of a run; times are from when a window was due until its rows were visible.

    `events` arrived, and `cpu_s` CPU seconds were used, in the time that counts, which is `cores` as a mean.
    """

    windows: int
    median_ms: int
    p99_ms: int
    max_ms: int
    events: int
    cpu_s: float
    cores: float

    @property
    def cpu_us_per_event(self) -> float:
        """CPU microseconds per event."""
        return self.cpu_s / self.events * 1_000_000


def visibility_of(
    partitions: Sequence[Arrivals],
    sightings: Iterable[Sighting],
    counted: Span,
    cpu_s: float,
    *,
    window_ms: int,
    bound_ms: int,
) -> Visibility:
    """Computes the figures from the windows that were due in the span `counted`, in which `cpu_s` were used.

    Raises BenchmarkError if no window was due, or if a window was not visible with exactly the events of the topic.
    """
    sent = events_by_window(partitions, window_ms)
    due = {end: at for end, at in due_at(partitions, list(sent), bound_ms).items() if counted.has(at)}
    seen, visible = Counter[int](), dict[int, int]()
    for at, events in sightings:
        seen.update(events)
        visible |= dict.fromkeys(events, at)
    wrong = {end: (seen[end], sent[end]) for end in due if seen[end] != sent[end]}
    if wrong or not due:
        raise BenchmarkError(
            f"{len(wrong)} of {len(due)} windows that were due were not visible with the events of the topic; "
            f"by end of the window, events that were visible and that were sent: {wrong}"
        )
    ages = Counter(visible[end] - at for end, at in due.items())
    return Visibility(
        windows=len(due),
        median_ms=percentile(ages, 0.5),
        p99_ms=percentile(ages, 0.99),
        max_ms=max(ages),
        events=sum(int(np.sum((counted.start <= times) & (times < counted.end))) for _, times in partitions),
        cpu_s=cpu_s,
        cores=cpu_s / (counted.end - counted.start) * 1000,
    )


def events_by_window(partitions: Sequence[Arrivals], window_ms: int) -> dict[int, int]:
    """Counts the events by the end of their tumbling window, in milliseconds."""
    times = np.concatenate([arrivals.event_times for arrivals in partitions])
    windows, counts = np.unique(times // window_ms, return_counts=True)
    return dict(zip(((windows + 1) * window_ms).tolist(), counts.tolist(), strict=True))


def due_at(partitions: Sequence[Arrivals], ends: Sequence[int], bound_ms: int) -> dict[int, int]:
    """Returns the Kafka timestamp of the event by which the watermark reached each of `ends`, all in milliseconds.

    Like in both systems, the watermark is the minimum over partitions of the highest event time minus the bound. An
    end that it did not reach has the largest integer.
    """
    wanted = np.array(ends, np.int64) + bound_ms
    by_partition = [_reached_at(arrivals, wanted) for arrivals in partitions]
    return dict(zip(ends, np.max(by_partition, axis=0).tolist(), strict=True))


def _reached_at(arrivals: Arrivals, event_times: Ints) -> Ints:
    """Returns the timestamp of the first event that is at least as new as each of `event_times`."""
    newest = np.maximum.accumulate(arrivals.event_times)
    reached: Ints = np.append(arrivals.timestamps, _NEVER)[np.searchsorted(newest, event_times)]
    return reached
