"""Writes the records of a scenario to a topic at a steady pace, from a thread."""

import threading
import time
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from confluent_kafka import Producer

from benchmarks.duel.scenario import CAUGHT_UP_MS, SPAN_MS, Kind, Record, Scenario, kind_of

_FLUSH_S: Final = 60.0
_POLL_S: Final = 0.005
_TRICKLE_S: Final = 0.3
_POLL_EACH: Final = 1000


class Feed(threading.Thread):
    """Writes a scenario: warm-up until `warm` is set, records within `seconds`, cool-down until `end` is set.

    From `CAUGHT_UP_MS` it writes slowly until `caught_up` is set: the later faults are to be read as they are written,
    not as a backlog, whose partitions may be read in any order. `moment` is how far it is in the scenario, `written` is
    set after its records, and `error` says why it failed.
    """

    def __init__(self, bootstrap_servers: str, topic: str, scenario: Scenario, seconds: float) -> None:
        """Writes nothing yet."""
        super().__init__(daemon=True)
        self.moment, self.error = 0, ""
        self.warm, self.caught_up = threading.Event(), threading.Event()
        self.written, self.end = threading.Event(), threading.Event()
        self._servers, self._topic, self._scenario = bootstrap_servers, topic, scenario
        self._pace = seconds / SPAN_MS
        self._begun = 0.0

    def run(self) -> None:
        """Writes all records; those of the aborted transaction by a producer of their own."""
        producer = self._producer()
        self._trickle(producer, self._scenario.warm_up, self.warm)
        self._begun = time.monotonic()
        for aborted, records in groupby(self._scenario.records, lambda record: kind_of(record.user) is Kind.ABORTED):
            if aborted:
                self._abort(records)
            else:
                self._send(producer, records)
        self._flush(producer)
        self.written.set()
        self._trickle(producer, self._scenario.cool_down, self.end)

    def _trickle(self, producer: Producer, records: Iterable[Record], stop: threading.Event) -> None:
        """Writes records slowly, so that no active partition is idle, until `stop` is set."""
        for record in records:
            self._produce(producer, record)
            producer.poll(0)
            if stop.wait(_TRICKLE_S):
                return

    def _send(self, producer: Producer, records: Iterable[Record]) -> None:
        for number, record in enumerate(records):
            self.moment = record.moment
            if record.moment >= CAUGHT_UP_MS and not self.caught_up.is_set():
                producer.poll(0)
                self.caught_up.wait(_TRICKLE_S)
                self._begun = time.monotonic() - record.moment * self._pace
            while (early := self._begun + record.moment * self._pace - time.monotonic()) > 0:
                producer.poll(min(early, _POLL_S))
            self._produce(producer, record)
            if number % _POLL_EACH == 0:
                producer.poll(0)

    def _abort(self, records: Iterable[Record]) -> None:
        producer = self._producer({"transactional.id": f"{self._topic}-aborted"})
        producer.init_transactions(_FLUSH_S)
        producer.begin_transaction()
        for record in records:
            self._produce(producer, record)
        self._flush(producer)
        producer.abort_transaction(_FLUSH_S)

    def _produce(self, producer: Producer, record: Record) -> None:
        producer.produce(self._topic, record.value, record.user.encode(), record.partition, on_delivery=self._delivered)

    def _delivered(self, error: object, _: object) -> None:
        self.error = self.error or (str(error) if error else "")

    def _flush(self, producer: Producer) -> None:
        if producer.flush(_FLUSH_S):
            self.error = self.error or f"the broker did not acknowledge all records within {_FLUSH_S:g} s"

    def _producer(self, more: dict[str, str] | None = None) -> Producer:
        options: dict[str, str | int] = {"bootstrap.servers": self._servers, "linger.ms": 5, "log_level": 0}
        return Producer({**options, "acks": "all", "enable.idempotence": "true", **(more or {})})
