"""Committed offsets for others to see: Spark commits none to Kafka, so ordinary lag tools would see nothing."""

from collections.abc import Mapping
from threading import Thread
from typing import Final

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from pipeline.kafka.clients import librdkafka_client
from pipeline.settings.model import KafkaSettings

_CLOSE_S: Final = 5.0
_log = structlog.get_logger()


class OffsetMirror:
    """Copies the ledger's offsets to a consumer group; a failure is logged, for the ledger is what counts."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._topic, self._group = kafka.topic, kafka.group_id
        self._told: int | None = None
        further = {"group.id": kafka.group_id, "enable.auto.commit": False, "on_commit": self._answered}
        self._consumer = Consumer({**librdkafka_client(kafka), **further})

    def commit(self, positions: Mapping[int, int]) -> None:
        """Sends the next offsets to read, per partition, without waiting for the answer."""
        offsets = [TopicPartition(self._topic, number, offset) for number, offset in positions.items()]
        try:
            self._consumer.poll(0)  # hears of the last one
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            self._answered(error.args[0], [])

    def _answered(self, error: KafkaError | None, _: list[TopicPartition]) -> None:
        """A missing right on the group is told once; it does not mend itself from one batch to the next."""
        told, self._told = self._told, error.code() if error else None
        if error and error.code() != told:
            _log.warning("offsets_not_mirrored", group=self._group, topic=self._topic, reason=error.str())

    def close(self) -> None:
        """Lets the last commit go out, but a broker that does not answer must not hold an attempt for minutes."""
        closing = Thread(target=self._consumer.close, name="mirror-close", daemon=True)
        closing.start()
        closing.join(_CLOSE_S)
