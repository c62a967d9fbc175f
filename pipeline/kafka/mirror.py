"""Copies committed offsets to Kafka for lag tools: Spark itself commits no offsets."""

from collections.abc import Mapping
from threading import Thread
from typing import Final

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tidemark.pipeline.kafka.clients import librdkafka_client
from tidemark.pipeline.settings.model import KafkaSettings

_CLOSE_S: Final = 5.0
_log = structlog.get_logger()


class OffsetMirror:
    """Copies the ledger's offsets to a consumer group. A failure is only logged: the ledger is authoritative."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._topic, self._group = kafka.topic, kafka.group_id
        self._logged: int | None = None
        options = {"group.id": kafka.group_id, "enable.auto.commit": False, "on_commit": self._log_failure}
        self._consumer = Consumer({**librdkafka_client(kafka), **options})

    def commit(self, positions: Mapping[int, int]) -> None:
        """Sends `positions`, the next offset by partition, without waiting for the answer."""
        offsets = [TopicPartition(self._topic, partition, offset) for partition, offset in positions.items()]
        try:
            self._consumer.poll(0)  # receives the answer to the commit before
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            self._log_failure(error.args[0], [])

    def _log_failure(self, error: KafkaError | None, _: list[TopicPartition]) -> None:
        """Logs a failure once: a missing permission on the group lasts from batch to batch."""
        logged, self._logged = self._logged, error.code() if error else None
        if error and error.code() != logged:
            _log.warning("offsets_not_mirrored", group=self._group, topic=self._topic, reason=error.str())

    def close(self) -> None:
        """Sends the last commit; a broker that does not answer delays this for a few seconds only."""
        closing = Thread(target=self._consumer.close, name="mirror-close", daemon=True)
        closing.start()
        closing.join(_CLOSE_S)
