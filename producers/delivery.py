"""Delivery guarantees of a run that is killed and started again with the same name.

The broker stores the progress of a run as the committed offset of the consumer group of its name. The guarantee depends
on whether progress is committed before the records, after them, or with them. Source: Kafka, "Message Delivery
Semantics".
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tidemark.producers.broker import Target
from tidemark.producers.errors import DeliveryError, SetUpError

_SHORTEST_TRANSACTION_MS: Final = 1_000
"""The minimum of librdkafka."""

DeliveryContext = Callable[[int], AbstractContextManager[None]]
"""Given a position in the source, returns the context in which the records up to it are sent."""


class Delivery(StrEnum):
    """The fate of a record when the run that sends it dies."""

    AT_MOST_ONCE = "at-most-once"
    """It may be lost: progress is committed first, and the run does not wait for acknowledgements."""
    AT_LEAST_ONCE = "at-least-once"
    """It may be sent again: progress is committed after the broker has acknowledged the record."""
    EXACTLY_ONCE = "exactly-once"
    """It is read once by consumers of committed records: record and progress are one transaction."""


def client_options(delivery: Delivery, name: str | None, timeout_ms: int) -> dict[str, str | bool | int]:
    """Returns the options of librdkafka for a delivery; `name` is the name of the run."""
    if delivery is Delivery.AT_MOST_ONCE:
        return {"enable.idempotence": False, "acks": "0", "message.send.max.retries": 0}
    safe: dict[str, str | bool | int] = {"enable.idempotence": True, "acks": "all"}
    if delivery is not Delivery.EXACTLY_ONCE or not name:
        return safe
    # Readers wait this long for the open transaction of a killed run; no record may take longer.
    return {**safe, "transactional.id": name, "transaction.timeout.ms": max(timeout_ms, _SHORTEST_TRANSACTION_MS)}


class Progress:
    """The progress of the run `name`: the number of acts that were simulated and sent."""

    def __init__(self, target: Target, name: str) -> None:
        self._timeout_s = target.timeout_ms / 1000
        self._topic = target.topic
        self._group = Consumer(
            {
                **target.client_config(),
                "group.id": name,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )

    def position(self) -> int:
        """Returns the committed number of acts, 0 for a new name. Raises SetUpError if the broker does not answer."""
        try:
            offsets = self._group.committed([TopicPartition(self._topic, 0)], timeout=self._timeout_s)
        except KafkaException as error:
            raise SetUpError(f"the broker did not return the progress of the run ({error.args[0].str()})") from error
        return max(offsets[0].offset, 0)

    @contextmanager
    def commit_before(self, position: int) -> Iterator[None]:
        """Commits progress before the records are sent: at most once."""
        self._commit(position)
        yield

    def commit_after(self, finish: Callable[[], None]) -> DeliveryContext:
        """Commits progress after `finish` has waited for every acknowledgement: at least once."""
        return lambda position: self._after(position, finish)

    def commit_within(self, producer: Producer) -> DeliveryContext:
        """Commits records and progress in one transaction of `producer`: exactly once.

        Aborts the open transaction of an earlier process.
        """
        self._try(lambda: producer.init_transactions(self._timeout_s))
        return lambda position: self._within(position, producer)

    def close(self) -> None:
        """Leaves the consumer group."""
        self._group.close()

    @contextmanager
    def _after(self, position: int, finish: Callable[[], None]) -> Iterator[None]:
        yield
        finish()
        self._commit(position)

    @contextmanager
    def _within(self, position: int, producer: Producer) -> Iterator[None]:
        self._try(producer.begin_transaction)
        yield
        offsets, group = self._offsets(position), self._group.consumer_group_metadata()
        self._try(lambda: producer.send_offsets_to_transaction(offsets, group, self._timeout_s))
        self._try(lambda: producer.commit_transaction(self._timeout_s))

    def _commit(self, position: int) -> None:
        self._try(lambda: self._group.commit(offsets=self._offsets(position), asynchronous=False))

    def _offsets(self, position: int) -> list[TopicPartition]:
        return [TopicPartition(self._topic, 0, position)]

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except KafkaException as error:
            raise DeliveryError(
                f"the broker did not store the progress of the run ({error.args[0].str()}); "
                "check the broker and start the run again with the same name"
            ) from error
