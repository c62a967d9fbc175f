"""Options of the two Kafka clients: the Java client reads the topic, librdkafka asks for offsets."""

import json
from collections.abc import Mapping
from typing import Final

from tidemark.kafka_access.java import java_options
from tidemark.kafka_access.librdkafka import librdkafka_options
from tidemark.pipeline.settings.model import BatchSettings, KafkaSettings
from tidemark.pipeline.settings.secrets import raising_set_up_errors

# Measured on a 2-core machine: 2.0 instead of 1.1 million records/s. Larger fetches and polls were slower.
_FAST_CONSUMER: Final = {
    "kafka.max.poll.records": "2000",
    "kafka.max.partition.fetch.bytes": "1048576",
    "kafka.receive.buffer.bytes": "1048576",
    # At the end of the log a consumer's read-ahead waits this long at the broker, and Spark's next request waits for it
    # on the same connection: the default is 500 ms, by which draining two records took longer.
    "kafka.fetch.max.wait.ms": "10",
    # Without a broker a batch is planned four times, each for this long (by default 1 min).
    "kafka.request.timeout.ms": "15000",
    "kafka.default.api.timeout.ms": "15000",
}


def java_client(kafka: KafkaSettings) -> dict[str, str]:
    """Returns the properties of the Java client. Raises SetUpError if a file of the settings cannot be used."""
    with raising_set_up_errors():
        return {"bootstrap.servers": kafka.bootstrap_servers, **java_options(kafka)}


def librdkafka_client(kafka: KafkaSettings) -> dict[str, str | int | float | bool]:
    """Returns the properties of librdkafka. Raises SetUpError if a file of the settings cannot be read."""
    with raising_set_up_errors():
        # Its own log would repeat each second what `connect` logs.
        return {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0, **librdkafka_options(kafka)}


def planner_options(
    kafka: KafkaSettings,
    batch: BatchSettings,
    positions: Mapping[int, int],
    arrived: int | None = None,
    settling_ms: int = 0,
) -> dict[str, str]:
    """Returns the options of the planner of batches, which begins at `positions`, the next offset by partition.

    With `arrived` each batch is a span of arrival, see `TopicRanges.until`; it is the `until` of the last batch before.
    A partition that is added later is read from its start. The query fails if a partition ends before its position.
    Raises SetUpError if a file of the settings cannot be used.
    """
    by_arrival = {} if arrived is None else {"arrival.before": str(arrived), "settling.ms": str(settling_ms)}
    return {
        **consumer_options(kafka),
        "topic": kafka.topic,
        "starts": json.dumps(positions),
        "max.records": str(batch.max_records),
        **by_arrival,
    }


def consumer_options(kafka: KafkaSettings) -> dict[str, str]:
    """Returns the options of consumers that read committed records. Raises SetUpError if a file cannot be used."""
    return {
        **_FAST_CONSUMER,
        "kafka.isolation.level": "read_committed",
        **{f"kafka.{name}": value for name, value in java_client(kafka).items()},
    }
