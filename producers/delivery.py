"""Delivery: how much a run that is killed, and started again under its name, loses or sends twice.

How far a run has come is kept on the broker, as the offset that the consumer group of its name has committed. When that
is written, before the records, after them or together with them, is what makes the difference.
Source: Kafka, "Message Delivery Semantics".
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from producers.broker import Target
from producers.errors import DeliveryError, SetupError

_SHORTEST_TRANSACTION_MS: Final = 1_000
"""librdkafka takes no less."""

Delivering = Callable[[int], AbstractContextManager[None]]
"""Surrounds the sending of the records up to a position in the source."""


class Delivery(StrEnum):
    """The fate of a record when the run that sends it dies."""

    AT_MOST_ONCE = "at-most-once"
    """It is lost: progress is kept first, and nobody waits for the broker to have the record."""
    AT_LEAST_ONCE = "at-least-once"
    """It is sent again: progress is kept once the broker has acknowledged the record."""
    EXACTLY_ONCE = "exactly-once"
    """Neither, for readers of committed records: record and progress are one transaction."""


def client_options(delivery: Delivery, name: str | None, timeout_ms: int) -> dict[str, str | bool | int]:
    """The options of librdkafka that a delivery needs; `name` is the run's."""
    if delivery is Delivery.AT_MOST_ONCE:
        return {"enable.idempotence": False, "acks": "0", "message.send.max.retries": 0}
    safe: dict[str, str | bool | int] = {"enable.idempotence": True, "acks": "all"}
    if delivery is not Delivery.EXACTLY_ONCE or not name:
        return safe
    # What a killed run left open holds up its readers for so long; no record may take longer.
    return {**safe, "transactional.id": name, "transaction.timeout.ms": max(timeout_ms, _SHORTEST_TRANSACTION_MS)}


class Progress:
    """How far the run of a name has come: the number of acts of its source that are done with."""

    def __init__(self, target: Target, name: str) -> None:
        self._timeout_s = target.timeout_ms / 1000
        self._topic = target.topic
        self._group = Consumer(
            {
                **target.client(),
                "group.id": name,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )

    def position(self) -> int:
        """0 for a name that has not run yet. Raises SetupError without an answer."""
        try:
            found = self._group.committed([TopicPartition(self._topic, 0)], timeout=self._timeout_s)
        except KafkaException as error:
            raise SetupError(f"the broker did not tell how far the run came before ({error.args[0].str()})") from error
        return max(found[0].offset, 0)

    @contextmanager
    def before(self, position: int) -> Iterator[None]:
        """At most once: kept before the records go."""
        self._keep(position)
        yield

    def after(self, finish: Callable[[], None]) -> Delivering:
        """At least once: kept after `finish` has seen every record acknowledged."""
        return lambda position: self._after(position, finish)

    def within(self, producer: Producer) -> Delivering:
        """Exactly once: records and progress in a transaction of `producer`, which aborts what a dead one left open."""
        self._try(lambda: producer.init_transactions(self._timeout_s))
        return lambda position: self._within(position, producer)

    def close(self) -> None:
        """Leaves the group."""
        self._group.close()

    @contextmanager
    def _after(self, position: int, finish: Callable[[], None]) -> Iterator[None]:
        yield
        finish()
        self._keep(position)

    @contextmanager
    def _within(self, position: int, producer: Producer) -> Iterator[None]:
        self._try(producer.begin_transaction)
        yield
        places, group = self._place(position), self._group.consumer_group_metadata()
        self._try(lambda: producer.send_offsets_to_transaction(places, group, self._timeout_s))
        self._try(lambda: producer.commit_transaction(self._timeout_s))

    def _keep(self, position: int) -> None:
        self._try(lambda: self._group.commit(offsets=self._place(position), asynchronous=False))

    def _place(self, position: int) -> list[TopicPartition]:
        return [TopicPartition(self._topic, 0, position)]

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except KafkaException as error:
            raise DeliveryError(
                f"the broker did not keep how far the run came ({error.args[0].str()}); "
                "see to the broker and start the run again under its name"
            ) from error
