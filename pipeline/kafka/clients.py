"""What the two Kafka clients are told: the Java one, which reads the topic, and librdkafka, which asks about it."""

import json
from collections.abc import Mapping
from typing import Final

from kafka_access.java import java_options
from kafka_access.librdkafka import librdkafka_options
from pipeline.settings.model import BatchSettings, KafkaSettings
from pipeline.settings.secrets import raising_set_up_errors

# Measured on a 2-core machine: 2.0 instead of 1.1 million records/s. Larger fetches and polls were slower.
_FAST_CONSUMER: Final = {
    "kafka.max.poll.records": "2000",
    "kafka.max.partition.fetch.bytes": "1048576",
    "kafka.receive.buffer.bytes": "1048576",
    # At the end of the log a consumer's read-ahead waits this long at the broker, and Spark's next question waits
    # behind it on the same connection: with the default of 500 ms draining two records took that much longer.
    "kafka.fetch.max.wait.ms": "10",
    # The query asks a broker that has gone four times, each time so long (by default 1 min), and cannot be interrupted.
    "kafka.request.timeout.ms": "15000",
    "kafka.default.api.timeout.ms": "15000",
    # A task whose broker has gone fails after this long (by default 2 min): until then nobody can stop the batch.
    "kafkaConsumer.pollTimeoutMs": "30000",
}


def java_client(kafka: KafkaSettings) -> dict[str, str]:
    """Properties of the Java client. Raises SetUpError if a file of the settings is not as it must be."""
    with raising_set_up_errors():
        return {"bootstrap.servers": kafka.bootstrap_servers, **java_options(kafka)}


def librdkafka_client(kafka: KafkaSettings) -> dict[str, str | int | float | bool]:
    """Properties of librdkafka. Raises SetUpError if a file of the settings cannot be read."""
    with raising_set_up_errors():
        # Its own log would repeat every second what `connect` says once.
        return {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0, **librdkafka_options(kafka)}


def source_options(kafka: KafkaSettings, batch: BatchSettings, positions: Mapping[int, int]) -> dict[str, str]:
    """Options by which Spark's source reads from `positions` (partition -> next offset), committed records only.

    A partition added later is read from its beginning. Spark fails the query when offsets are gone.
    Raises SetUpError if a file of the settings is not as it must be.
    """
    return {
        **_FAST_CONSUMER,
        "kafka.isolation.level": "read_committed",
        "subscribe": kafka.topic,
        "startingOffsets": json.dumps({kafka.topic: {str(n): offset for n, offset in positions.items()}}),
        "maxOffsetsPerTrigger": str(batch.max_records),
        **{f"kafka.{name}": value for name, value in java_client(kafka).items()},
    }
