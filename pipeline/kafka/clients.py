"""What the two Kafka clients are told: the Java one, which reads the topic, and librdkafka, which asks about it."""

from kafka_access.java import java_options
from kafka_access.librdkafka import librdkafka_options
from pipeline.settings.model import KafkaSettings
from pipeline.settings.secrets import for_a_person


def java_client(kafka: KafkaSettings) -> dict[str, str]:
    """Properties of the Java client. Raises SetUpError if a file of the settings is not as it must be."""
    with for_a_person():
        return {"bootstrap.servers": kafka.bootstrap_servers, **java_options(kafka)}


def librdkafka_client(kafka: KafkaSettings) -> dict[str, str | int | float | bool]:
    """Properties of librdkafka. Raises SetUpError if a file of the settings cannot be read."""
    with for_a_person():
        # Its own log would repeat every second what `connect` says once.
        return {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0, **librdkafka_options(kafka)}
