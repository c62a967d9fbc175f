"""A clock and a broker that tests own, and batches as the service commits them."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client import generate_latest

from tests.support.waiting import PATIENCE_S
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.event_time.batch import Batch
from tidemark.pipeline.event_time.firing import WindowsDue
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.tallies import Tallies, Tally
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.metrics.observer import Host, Observer
from tidemark.pipeline.runtime.disk import Space
from tidemark.pipeline.runtime.topic_offsets import TopicOffsets
from tidemark.pipeline.settings.model import MetricsSettings, Settings

START = 1_700_000_000_000
POLICY = Settings().policy()
NOTHING_DUE = WindowsDue()
HOST = Host("/warehouse", lambda: Space(total=1000, free=400), os.getpid, lambda: {"kafka": START})


@dataclass
class World:
    """The clock in ms and the broker's offsets; `silent` makes the broker fail as a real broker does.

    `held_back` are the records of each partition that an open transaction holds back.
    """

    now: int = START
    log_ends: dict[int, int] = field(default_factory=dict)
    held_back: dict[int, int] = field(default_factory=dict)
    earliest: dict[int, int] = field(default_factory=dict)
    silent: bool = False
    asked: int = 0

    def ask(self) -> TopicOffsets:
        """Like Topic.offsets."""
        self.asked += 1
        if self.silent:
            raise TransientError("no broker answers")
        ends = {partition: end + self.held_back.get(partition, 0) for partition, end in self.log_ends.items()}
        return TopicOffsets({**dict.fromkeys(ends, 0), **self.earliest}, dict(self.log_ends), ends)

    def observer(self, settings: MetricsSettings | None = None, policy: Policy = POLICY) -> Observer:
        """An observer of this world; patient, because the fake broker answers at once on however busy a machine."""
        observer = Observer(settings or MetricsSettings(), policy, lambda: self.now, patience_s=PATIENCE_S, host=HOST)
        observer.follow(self.ask)
        return observer


def frontier(positions: Mapping[int, int], watermark: int | None = None, newest: int | None = None) -> Frontier:
    """Active partitions at positions."""
    states = {partition: PartitionState(position, START, newest) for partition, position in positions.items()}
    return Frontier(states, watermark)


def batch(
    before: Frontier, after: Frontier, verdicts: Mapping[int, Counter[Verdict]], firing: WindowsDue = NOTHING_DUE
) -> Batch:
    """A batch of epoch 1 that was folded at START and whose records were all one second old then."""
    partitions = {partition: Tally(Counter(counts)) for partition, counts in verdicts.items()}
    ages = Counter({1000: sum(tally.verdicts.total() for tally in partitions.values())})
    tallies = Tallies(partitions, set(), ages)
    return Batch(
        1_000_000_001,
        "clicks",
        before,
        after,
        tallies,
        {"page_views": firing},
        START,
        POLICY,
        open_windows={"page_views": 3},
    )


def samples(observer: Observer) -> dict[str, float]:
    """The page as Prometheus reads it: `name{labels}` -> value."""
    lines = [line for line in generate_latest(observer.registry).decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
