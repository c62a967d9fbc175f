"""Values to a Kafka topic, no failure unseen."""

from collections.abc import Iterable, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from producers.broker import Target
from producers.delivery import Delivery, client_options
from producers.errors import DeliveryError

_QUEUE_ROWS = 500_000
_POLL_S = 0.01


class Publisher:
    """A Kafka producer for one topic. Raises DeliveryError as soon as one record has failed."""

    def __init__(
        self,
        target: Target,
        compression: str = "none",
        delivery: Delivery = Delivery.AT_LEAST_ONCE,
        name: str | None = None,
    ) -> None:
        """`name` is the run's, for a delivery that outlives it."""
        self._target = target
        self._failed = 0
        self._first_failure = ""
        self.producer = Producer(
            {
                **target.client(),
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
        """Queue records, in order within each partition; waits while the queue is full. `topic` may be another one."""
        # Room first: a queue that overflows midway would put the rest out of order.
        while len(self.producer) + len(values) > _QUEUE_ROWS:
            self.wait(_POLL_S)
        by_partition: dict[int, list[dict[str, bytes | None]]] = {}
        for key, value, partition in zip(keys, values, partitions, strict=True):
            by_partition.setdefault(partition, []).append({"key": key, "value": value})
        for partition, messages in by_partition.items():
            self._queue(topic or self._target.topic, messages, partition)
        self.wait(0)

    def wait(self, seconds: float) -> None:
        """Let time pass, hearing of failed records meanwhile."""
        self.producer.poll(seconds)
        self._raise_if_failed()

    def finish(self) -> None:
        """Wait until every record is acknowledged or has failed."""
        while len(self.producer):
            self.producer.flush(_POLL_S)
        self._raise_if_failed()

    def _queue(self, topic: str, messages: list[dict[str, bytes | None]], partition: int) -> None:
        try:
            queued = self.producer.produce_batch(topic, messages, partition=partition)
        except KafkaException as error:
            raise self._failure(error.args[0].str()) from error
        if queued < len(messages):
            refused = next(m["_error"] for m in messages if "_error" in m)
            raise self._failure(str(refused))

    def _on_failure(self, error: KafkaError | None, _: Message) -> None:
        self._failed += 1
        self._first_failure = self._first_failure or (error.str() if error else "unknown")

    def _raise_if_failed(self) -> None:
        if self._failed:
            raise self._failure(self._first_failure)

    def _failure(self, cause: str) -> DeliveryError:
        return DeliveryError(
            f"the broker at {self._target.bootstrap_servers} did not take all records for "
            f"{self._target.topic} ({cause}); see to the broker and start the run anew"
        )
