"""A seeded simulator of a site: batches of events with known disorder."""

from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from tidemark.producers.arrays import Bools, Ints
from tidemark.producers.batch import Batch
from tidemark.producers.columns import ColumnBuilder
from tidemark.producers.disorder import Disorder, choose_kinds, displace
from tidemark.producers.duplicates import Repeater
from tidemark.producers.kinds import Kind
from tidemark.producers.partition import partition_of
from tidemark.producers.site import Acts, Crowd, Site

__all__ = ["Batch", "Disorder", "Kind", "Simulator", "Site", "simulate"]

BATCH = 10_000  # fits the second-level cache; larger and smaller batches were slower


class Simulator:
    """Simulates a site. Equal arguments and steps give the same events, byte for byte.

    `start_ms` is event time. Raises ValueError for a start so early that event times would not be above zero, and for
    a silent partition that does not exist or is the only partition.
    """

    def __init__(self, site: Site, disorder: Disorder, start_ms: int, partitions: int = 4) -> None:
        _check(disorder, start_ms, partitions)
        self._disorder, self.start_ms = disorder, start_ms
        self._rng = np.random.default_rng(site.seed)
        self._crowd = Crowd(site, self._rng)
        self._columns = ColumnBuilder(site)
        self._repeater = Repeater(disorder, self._rng)
        self.user_ids = self._columns.user_ids
        self._partitions = np.array([partition_of(u.encode(), partitions) for u in self.user_ids])
        self.largest_step = min(BATCH, self._crowd.present)

    def step(self, count: int, from_ms: float, to_ms: float, now_ms: int) -> Batch:
        """Returns the acts of `count` users in [from_ms, to_ms) of event time; `now_ms` is the wall clock.

        `count` is at most `largest_step`. Once a partition is silent, the batch has fewer than `count` events.
        """
        acts = self._crowd.act(count)
        acted = np.linspace(from_ms, to_ms, count, endpoint=False).astype(np.int64)
        sent = self._is_sent(acts.users, acted)
        acts, acted = _select(acts, sent), acted[sent]
        kinds = choose_kinds(self._disorder, self._rng, acted - self.start_ms)
        times = displace(self._disorder, self._rng, acted, kinds, now_ms)
        batch = Batch(
            events=self._columns.build(acts, times, kinds == Kind.EMPTY_USER, self._rng),
            kinds=kinds,
            users=acts.users,
            visits=acts.visits,
            times=times,
            partitions=self._partitions[acts.users],
        )
        return self._repeater.repeat(batch)

    def _is_sent(self, users: Ints, acted: Ints) -> Bools:
        """Returns for each act whether its partition is not silent; `acted` is event time in ms."""
        disorder = self._disorder
        if disorder.silent_partition is None:
            return np.ones(len(users), np.bool_)
        sent: Bools = self._partitions[users] != disorder.silent_partition
        sent |= acted - self.start_ms < disorder.silent_after_ms
        return sent


def simulate(
    site: Site,
    disorder: Disorder,
    *,
    events: int,
    start_ms: int,
    event_rate: float,
    partitions: int = 4,
    now_ms: int | None = None,
) -> Iterator[Batch]:
    """Yields batches of `events` acts from `start_ms` on, `event_rate` acts per second of event time.

    Future events are ahead of the wall clock `now_ms`, by default the end of the replay.
    """
    simulator = Simulator(site, disorder, start_ms, partitions)
    end_ms = start_ms + events / event_rate * 1000
    now_ms = round(end_ms) if now_ms is None else now_ms
    for done in range(0, events, simulator.largest_step):
        count = min(simulator.largest_step, events - done)
        first, last = (start_ms + n / event_rate * 1000 for n in (done, done + count))
        yield simulator.step(count, first, last, now_ms)


def _select(acts: Acts, which: Bools) -> Acts:
    return acts if which.all() else Acts(*(getattr(acts, f.name)[which] for f in fields(Acts)))


def _check(disorder: Disorder, start_ms: int, partitions: int) -> None:
    oldest = start_ms - disorder.late_by_ms - disorder.jitter_ms
    if oldest <= 0:
        raise ValueError(f"the start at {start_ms} ms gives event times down to {oldest} ms; start later")
    silent = disorder.silent_partition
    if silent is not None and not (partitions > 1 and 0 <= silent < partitions):
        raise ValueError(
            f"partition {silent} cannot go silent on a topic of {partitions} partition(s); "
            "name one of several, counted from 0"
        )
