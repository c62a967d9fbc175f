"""The kind of failure of an error, which the alert and its runbook name, and its cause, which the log has."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from tidemark.pipeline.commands.supervise import _brief, _kind
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.metrics.metric_catalogue import FailureKind

CALL = "An error occurred while calling o808.collectToPython."
TIMEOUT = (
    "org.apache.kafka.common.errors.TimeoutException: Timeout of 15000ms expired before the position for partition "
    "clicks-1 could be determined"
)
OF_A_TASK = (
    f"{CALL}\n: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 15.0 failed 1 "
    f"times, most recent failure: Lost task 1.0 in stage 15.0 (TID 28) (host executor driver): {TIMEOUT}"
)
STACK = "\n\tat a.B.c(B.java:1)\n\nDriver stacktrace:\n\tat d.E.f(E.java:2)"
OF_A_STORE = (
    "Generic error\n  \x1b[31m↳\x1b[0m Unable to open /w/1\n   \x1b[31m↳\x1b[0m Operation not permitted (os error 1)\n"
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


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{OF_A_TASK}{STACK}", TIMEOUT),
        (
            f"{OF_A_TASK}{STACK}\nCaused by: a.Outer: outer\n\t... 9 more\nCaused by: a.Inner: inner\n\t... 1",
            "a.Inner: inner",
        ),
        (f"{CALL}\n: a.Error: no memory{STACK}", f"{CALL} : a.Error: no memory"),
        (OF_A_STORE, "Generic error ↳ Unable to open /w/1 ↳ Operation not permitted (os error 1)"),
        ("no broker", "no broker"),
    ],
    ids=["a task of Spark's", "causes of causes", "Java", "a store", "else"],
)
def test_a_failure_is_logged_with_its_innermost_cause(text: str, cause: str) -> None:
    assert _brief(RuntimeError(text)) == cause
