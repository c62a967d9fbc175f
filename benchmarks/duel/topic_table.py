"""A topic that holds a table: the newest record of a user and window is its count."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Final

from confluent_kafka import Consumer, Message, TopicPartition

from benchmarks.duel.scenario import PARTITIONS, Cell

NO_LIMIT: Final = 2**63 - 1
"""`message.timestamp.after.max.ms` of a table's topic: results are dated by their window, and some are a day ahead."""
_WAIT_S: Final = 2.0
_AT_ONCE: Final = 10_000


class TopicTable:
    """Reads committed records `{"start": ..., "value": ...}` with the user as key; remembers how far it has read."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        """Starts at the start of the topic."""
        self.cells: Counter[Cell] = Counter()
        self.keys: Counter[str] = Counter()
        self._reader = _reader(bootstrap_servers)
        self._reader.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])

    def counts(self) -> Counter[Cell]:
        """Reads on, and returns the newest count of each user and window."""
        for message in self._new():
            row = json.loads(message.value() or b"{}")
            self.cells[(message.key() or b"").decode(), row["start"]] = row["value"]
        return self.cells.copy()

    def records(self) -> Counter[str]:
        """Reads on, and returns the number of records of each key."""
        self.keys.update((message.key() or b"").decode() for message in self._new())
        return self.keys.copy()

    def _new(self) -> Iterator[Message]:
        messages = self._reader.consume(_AT_ONCE, _WAIT_S)
        yield from (message for message in messages if message.error() is None)
        if len(messages) == _AT_ONCE:
            yield from self._new()


def _reader(bootstrap_servers: str) -> Consumer:
    options: dict[str, str | int | bool] = {"bootstrap.servers": bootstrap_servers, "group.id": "duel", "log_level": 0}
    return Consumer({**options, "enable.auto.commit": False})
