"""Sends records to a Kafka topic, and reports every failure."""

from collections.abc import Iterable, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tidemark.producers.broker import Target
from tidemark.producers.delivery import Delivery, client_options
from tidemark.producers.errors import DeliveryError

_QUEUE_ROWS = 500_000
_POLL_S = 0.01


class Publisher:
    """A Kafka producer for one topic. Raises DeliveryError as soon as a record has failed."""

    def __init__(
        self,
        target: Target,
        compression: str = "none",
        delivery: Delivery = Delivery.AT_LEAST_ONCE,
        name: str | None = None,
    ) -> None:
        """`name` is the name of the run, for transactions that a later process can resume."""
        self._target = target
        self._failed = 0
        self._first_failure = ""
        self.producer = Producer(
            {
                **target.client_config(),
                **client_options(delivery, name, target.timeout_ms),
                "message.timeout.ms": target.timeout_ms,
                "compression.type": compression,
                "linger.ms": 20,
                "batch.num.messages": 10_000,
                "queue.buffering.max.messages": _QUEUE_ROWS,
                # A Python call per acknowledged record would halve the rate.
                "delivery.report.only.error": True,
                "on_delivery": self._on_failure,
            }
        )

    def send(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        partitions: Iterable[int],
        topic: str | None = None,
    ) -> None:
        """Queues records, in order within each partition, for `topic` or the target's topic; waits while it is full."""
        # Wait for space first: a queue that overflows midway would reorder the rest.
        while len(self.producer) + len(values) > _QUEUE_ROWS:
            self.wait(_POLL_S)
        by_partition: dict[int, list[dict[str, bytes | None]]] = {}
        for key, value, partition in zip(keys, values, partitions, strict=True):
            by_partition.setdefault(partition, []).append({"key": key, "value": value})
        for partition, messages in by_partition.items():
            self._queue(topic or self._target.topic, messages, partition)
        self.wait(0)

    def wait(self, seconds: float) -> None:
        """Waits up to `seconds` for reports of the broker. Raises DeliveryError if a record has failed."""
        self.producer.poll(seconds)
        self._raise_if_failed()

    def finish(self) -> None:
        """Waits until every record is acknowledged or has failed."""
        while len(self.producer):
            self.producer.flush(_POLL_S)
        self._raise_if_failed()

    def _queue(self, topic: str, messages: list[dict[str, bytes | None]], partition: int) -> None:
        try:
            queued = self.producer.produce_batch(topic, messages, partition=partition)
        except KafkaException as error:
            raise self._failure(error.args[0].str()) from error
        if queued < len(messages):
            cause = next(message["_error"] for message in messages if "_error" in message)
            raise self._failure(str(cause))

    def _on_failure(self, error: KafkaError | None, _: Message) -> None:
        self._failed += 1
        self._first_failure = self._first_failure or (error.str() if error else "unknown")

    def _raise_if_failed(self) -> None:
        if self._failed:
            raise self._failure(self._first_failure)

    def _failure(self, cause: str) -> DeliveryError:
        return DeliveryError(
            f"the broker at {self._target.bootstrap_servers} did not accept all records for "
            f"{self._target.topic} ({cause}); check the broker and start the run again"
        )
