"""The kind of failure of an error, which the alert and its runbook name."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from pipeline.commands.supervise import _kind
from pipeline.errors import TransientError
from pipeline.metrics.metric_catalogue import FailureKind

OF_A_TASK = (
    "An error occurred while calling o808.collectToPython.\n: org.apache.spark.SparkException: Job aborted due to "
    "stage failure: Task 1 in stage 15.0 failed 1 times, most recent failure: Lost task 1.0 in stage 15.0 (TID 28) "
    "(host executor driver): org.apache.kafka.common.errors.TimeoutException: Timeout of 15000ms expired before "
    "the position for partition clicks-1 could be determined"
)


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (raised(TransientError("no broker"), KafkaException(KafkaError(KafkaError._TRANSPORT))), FailureKind.BROKER),
        (RuntimeError(OF_A_TASK), FailureKind.BROKER),
        (raised(RuntimeError("no commit"), OSError("no space left on device")), FailureKind.STORE),
        (RuntimeError("no idea"), FailureKind.OTHER),
    ],
    ids=["librdkafka", "a task of Spark's", "a store", "else"],
)
def test_a_failure_has_the_kind_of_its_cause(error: Exception, kind: FailureKind) -> None:
    assert _kind(error) is kind
