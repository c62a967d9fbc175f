"""The disorder of the stream: the configured shares, and the decision per event."""

from dataclasses import dataclass

import numpy as np

from tidemark.producers.arrays import Ints, Octets
from tidemark.producers.kinds import MALFORMED, Kind


@dataclass(frozen=True)
class Disorder:
    """Shares of all events, from 0 to 1; times are event time in milliseconds.

    Duplicates replace other events. Late events start `late_after_ms` after the start of the run: a consumer judges a
    batch by the watermark before it, so until its first commit no event is too late. For the same reason `late_by_ms`
    should be well above bound + window + allowed lateness. Raises ValueError if the sum of the shares exceeds 1, or
    for late events that are no later than the jitter.
    """

    jitter_ms: int = 0
    jitter_share: float = 0.5
    late_share: float = 0.0
    late_by_ms: int = 600_000
    late_after_ms: int = 30_000
    future_share: float = 0.0
    future_by_ms: int = 3_600_000
    malformed_share: float = 0.0
    malformed_kinds: tuple[Kind, ...] = MALFORMED
    duplicate_share: float = 0.0
    silent_partition: int | None = None
    silent_after_ms: int = 10_000

    def __post_init__(self) -> None:
        total = self.late_share + self.future_share + self.malformed_share
        if total > 1:
            raise ValueError(
                f"the shares of late, future and malformed events add up to {total:g}; their sum must be at most 1"
            )
        if self.late_share and self.late_by_ms <= self.jitter_ms:
            raise ValueError(
                f"late events would be {self.late_by_ms} ms late, no later than the jitter of "
                f"{self.jitter_ms} ms; raise late-by above jitter"
            )
        if self.malformed_share and not self.malformed_kinds:
            raise ValueError("a share of malformed events needs at least one kind of malformed value")


def choose_kinds(disorder: Disorder, rng: np.random.Generator, age: Ints) -> Octets:
    """Returns a `Kind` per event; `age` is its event time since the start of the run, in ms."""
    draw, jitter = rng.random(len(age)), rng.random(len(age))
    jittered = (jitter < disorder.jitter_share) & (disorder.jitter_ms > 0)
    kinds = np.where(jittered, Kind.JITTERED, Kind.ON_TIME).astype(np.uint8)
    malformed = disorder.malformed_share
    late = malformed + disorder.late_share
    future = late + disorder.future_share
    kinds[(malformed <= draw) & (draw < late) & (age >= disorder.late_after_ms)] = Kind.TOO_LATE
    kinds[(late <= draw) & (draw < future)] = Kind.FUTURE
    broken = draw < malformed
    if broken.any():
        kinds[broken] = rng.choice(np.array(disorder.malformed_kinds, np.uint8), broken.sum())
    return kinds


def displace(disorder: Disorder, rng: np.random.Generator, acted: Ints, kinds: Octets, now_ms: int) -> Ints:
    """Returns the event times to write, in ms, for events that happened at `acted`.

    Future events are ahead of the wall clock `now_ms`, not of a replayed past, because a consumer compares them with
    the Kafka timestamp.
    """
    times = acted.copy()
    jittered = kinds == Kind.JITTERED
    times[jittered] -= rng.integers(1, disorder.jitter_ms + 1, jittered.sum()) if jittered.any() else 0
    times[kinds == Kind.TOO_LATE] -= disorder.late_by_ms
    future = kinds == Kind.FUTURE
    times[future] = np.maximum(acted[future], now_ms) + disorder.future_by_ms
    times[kinds == Kind.ZERO_TIME] = 0
    return times
