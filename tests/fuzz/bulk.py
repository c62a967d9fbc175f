"""Many records on a topic in little time, and where each of them is."""

from collections.abc import Sequence

from confluent_kafka import Producer

from tests.support.waiting import PATIENCE_S

_AT_ONCE = 10_000
_QUEUED = 90_000


class Bulk:
    """Writes to a topic's partitions in turn: record `n` in all is number `n // partitions` of its partition."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int, timestamp_ms: int) -> None:
        self._topic, self._partitions, self._timestamp_ms = topic, partitions, timestamp_ms
        # Idempotence keeps the order also where a request is repeated.
        settings = {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        self._producer = Producer({**settings, "delivery.report.only.error": True, "on_delivery": _refused})

    def send(self, values: Sequence[bytes | None], keys: Sequence[bytes | None]) -> None:
        """Returns when all are acknowledged; as many records for each partition."""
        for number, (value, key) in enumerate(zip(values, keys, strict=True)):
            if number % _AT_ONCE == 0:
                self._make_room()
            # One by one, for in batches the client takes no timestamps.
            self._producer.produce(self._topic, value, key, number % self._partitions, timestamp=self._timestamp_ms)
        assert self._producer.flush(PATIENCE_S) == 0

    def _make_room(self) -> None:
        while len(self._producer) > _QUEUED - _AT_ONCE:
            self._producer.poll(0.01)


def _refused(error: object, _: object) -> None:
    assert error is None, error
