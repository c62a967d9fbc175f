"""Every record's age when it was committed: its Kafka timestamp against the ledger row that covers its offset."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from benchmarks.errors import BenchmarkError

_AT_ONCE = 50_000
_PATIENCE_S = 30.0


@dataclass
class Commits:
    """When a partition's offsets were committed: up to `ends[n]` (exclusive) at `times[n]`, in order."""

    ends: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

    def of(self, offset: int) -> int:
        """When an offset was committed. Raises IndexError for one that was not."""
        return self.times[bisect_right(self.ends, offset)]


class Record(NamedTuple):
    """A record on Kafka; its timestamp in milliseconds."""

    partition: int
    offset: int
    timestamp: int


def commits(ledger: pa.Table) -> dict[int, Commits]:
    """Per partition, from ledger rows in order of batch."""
    found: dict[int, Commits] = {}
    for row in ledger.select(["partition", "from_offset", "to_offset", "committed_at"]).to_pylist():
        entry = found.setdefault(row["partition"], Commits())
        if row["to_offset"] > row["from_offset"]:
            entry.ends.append(row["to_offset"])
            entry.times.append(row["committed_at"])
    return found


def ages(
    records: Iterable[Record], committed: dict[int, Commits], began: int, slice_ms: int
) -> Counter[tuple[int, int]]:
    """Records by (slice of the run in which they were produced, age at commit in milliseconds)."""
    found: Counter[tuple[int, int]] = Counter()
    for partition, offset, produced in records:
        found[(produced - began) // slice_ms, committed[partition].of(offset) - produced] += 1
    return found


def all_records(bootstrap_servers: str, topic: str, committed: dict[int, Commits]) -> Iterator[Record]:
    """Everything the ledger covers, read again. Raises BenchmarkError if it does not come."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "benchmarks", "enable.auto.commit": False})
    left = sum(entry.ends[-1] for entry in committed.values() if entry.ends)
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in committed])
    try:
        while left > 0:
            messages = consumer.consume(_AT_ONCE, _PATIENCE_S)
            if not messages or any(message.error() for message in messages):
                raise BenchmarkError(f"{left} records of topic {topic} could not be read again")
            left -= len(messages)
            yield from map(_record, messages)
    finally:
        consumer.close()


def _record(message: Message) -> Record:
    partition, offset = message.partition(), message.offset()
    # The client's types allow None, which only a message that was never sent has.
    return Record(-1 if partition is None else partition, -1 if offset is None else offset, message.timestamp()[1])


def percentile(histogram: Counter[int], share: float) -> int:
    """The smallest value that at least this share of all does not exceed. Raises IndexError if there is none."""
    wanted, seen = share * histogram.total(), 0
    for value in sorted(histogram):
        seen += histogram[value]
        if seen >= wanted:
            return value
    raise IndexError("a percentile of nothing")
