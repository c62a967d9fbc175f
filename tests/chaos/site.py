"""A disorderly site fills a topic, outside of the service, and says what it sent."""

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from confluent_kafka.admin import NewPartitions

from demo.topics import admin
from tests.support.kafka_cluster import Cluster
from tests.support.processes import Process, producers
from tidemark.producers.truth import Truth

K = TypeVar("K")
PARTITIONS = 3
_TIMEOUT_S = 600
# As long as the windows of the service, for comparison.
WINDOW = "2s"
WINDOW_MS = 2_000
DISORDER = (
    *("--rate", "300", "--users", "100", "--jitter", "400ms", "--truth-window", WINDOW),
    *("--late-share", "0.02", "--late-by", "1m", "--late-after", "2s"),
    *("--future-share", "0.01", "--malformed-share", "0.02"),
    # Longer than any fault lasts: a broker that is away must not end it.
    *("--timeout", "10m"),
)
SILENCE = ("--silent-partition", str(PARTITIONS - 1), "--silent-after", "8s")


@dataclass
class Site:
    """Producers at work on a topic until `truth` is asked for."""

    broker: Cluster
    topic: str
    folder: Path
    seed: int
    options: tuple[str, ...]
    stack: ExitStack
    processes: list[Process] = field(default_factory=list)

    @property
    def where(self) -> tuple[str, ...]:
        """The options that name the topic, the same for producers and service."""
        return ("--bootstrap-servers", self.broker.bootstrap_servers, "--topic", self.topic)

    def open(self) -> None:
        """Makes the topic and lets the first producer begin."""
        self.broker.create_topic(self.topic, PARTITIONS)
        self.produce()

    def produce(self) -> None:
        """One more producer, on all partitions that there are now."""
        number = len(self.processes)
        further = ("--seed", str(self.seed + number), "--truth", str(self._truth(number)))
        log = self.folder / f"producer-{number}.log"
        process = producers(log, "simulate", *self.where, *DISORDER, *self.options, *further)
        self.processes.append(self.stack.enter_context(process))

    def add_partition(self) -> None:
        """Adds a partition to the topic, and replaces the producer by a new producer that knows it."""
        client = admin(self.broker.bootstrap_servers)  # kept: without it the answer would not come
        client.create_partitions([NewPartitions(self.topic, PARTITIONS + len(self.processes))])[self.topic].result(
            _TIMEOUT_S
        )
        self.produce()
        self._end(self.processes[-2])

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Its producer sleeps meanwhile."""
        self.processes[-1].send_to_group(signal.SIGSTOP)
        try:
            yield
        finally:
            self.processes[-1].send_to_group(signal.SIGCONT)

    def truth(self) -> Truth:
        """Ends the producer and returns what all producers have sent."""
        self._end(self.processes[-1])
        return _together([Truth.load(self._truth(number)) for number in range(len(self.processes))])

    @staticmethod
    def _end(process: Process) -> None:
        assert process.alive, process.said
        process.send(signal.SIGTERM)
        assert process.wait(_TIMEOUT_S) == 0, process.said

    def _truth(self, number: int) -> Path:
        return self.folder / f"truth-{number}.json"


def _together(truths: list[Truth]) -> Truth:
    """Adds up what several producers sent to one topic; a row per window and user of each of them."""
    first = truths[0]
    return Truth(
        topic=first.topic,
        window_ms=first.window_ms,
        sent=_summed([truth.sent for truth in truths]),
        malformed=_summed([truth.malformed for truth in truths]),
        partitions=_summed([truth.partitions for truth in truths]),
        on_time=pa.concat_tables([truth.on_time for truth in truths]),
        too_late=pa.concat_tables([truth.too_late for truth in truths]),
    )


def _summed(counts: list[dict[K, int]]) -> dict[K, int]:
    total: Counter[K] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)
