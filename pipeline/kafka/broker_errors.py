"""Recognises errors of the broker."""

from collections.abc import Iterator
from typing import Final

from confluent_kafka import KafkaException

from tidemark.pipeline.errors import TidemarkError

_JAVA_CLIENT_ERROR: Final = "org.apache.kafka.common.errors."


def is_of_broker(error: BaseException) -> bool:
    """Returns whether a broker did not answer, or answered with a failure.

    Spark reports such a failure of a task as text only.
    """
    is_raised_here = isinstance(error, TidemarkError) and any(
        isinstance(cause, KafkaException | TimeoutError) for cause in causes(error)
    )
    return is_raised_here or any(_JAVA_CLIENT_ERROR in str(each) for each in (error, *causes(error)))


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yields the causes of an error, the direct cause first."""
    while error.__cause__ is not None:
        error = error.__cause__
        yield error
