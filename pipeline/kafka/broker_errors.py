"""Whether an error is the broker's."""

from collections.abc import Iterator
from typing import Final

from confluent_kafka import KafkaException

from pipeline.errors import TidemarkError

_OF_JAVAS_CLIENT: Final = "org.apache.kafka.common.errors."


def is_of_broker(error: BaseException) -> bool:
    """Whether it was raised because a broker did not answer, or answered that it cannot.

    Of a task that died of it Spark tells in words only.
    """
    ours = isinstance(error, TidemarkError) and any(
        isinstance(cause, KafkaException | TimeoutError) for cause in causes(error)
    )
    return ours or _OF_JAVAS_CLIENT in str(error)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error that one was raised from, the error that this was raised from, and so on."""
    while error.__cause__ is not None:
        error = error.__cause__
        yield error
