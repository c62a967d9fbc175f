"""Whose fault an error is decides whether `supervise` repeats the attempt."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from tidemark.pipeline.commands import retries
from tidemark.pipeline.commands import supervise as verb
from tidemark.pipeline.commands.supervise import supervise
from tidemark.pipeline.errors import BrokenChain, Replaced, SetUpError, TransientError, Unreachable
from tidemark.pipeline.settings.model import KafkaSettings, MetricsSettings, Settings

pytestmark = pytest.mark.slow

JAVA = (
    "An error occurred while calling o8.collectToPython.\n: org.apache.spark.SparkException: Job aborted.\nCaused by: "
)
SETTINGS = Settings(
    warehouse="/nowhere", kafka=KafkaSettings(bootstrap_servers="b:9092", topic="t"), metrics=MetricsSettings(port=0)
)


class LastAttempt(Exception):
    """Ends a test: it is a defect to `supervise`."""


def attempts_after(*errors: Exception, monkeypatch: pytest.MonkeyPatch) -> int:
    """Returns the number of attempts if each of the first ones raises one of the `errors`, in order."""
    raised = list[Exception]()

    @contextmanager
    def attempt(*_: object, **__: object) -> Iterator[NoReturn]:
        raised.append(errors[len(raised)] if len(raised) < len(errors) else LastAttempt())
        raise raised[-1]
        yield  # a context manager is a generator

    monkeypatch.setattr(verb, "open_service", attempt)
    monkeypatch.setattr(retries, "_PAUSES_S", (0,))
    with pytest.raises(Exception) as ended:  # noqa: PT011 - compared below
        supervise(SETTINGS)
    assert ended.value is raised[-1]
    return len(raised)


def test_failures_outside_the_program_are_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = (
        TransientError("no broker"),
        DeltaError("Object Store error: no answer"),
        OSError(28, "No space left on device"),
        PySparkException(f"{JAVA}java.io.IOException: no route to the store"),
        Py4JError(f"{JAVA}ExecutorLostFailure (executor 1 exited)"),
        RuntimeError("org.apache.kafka.common.errors.TimeoutException: no position"),
        Py4JNetworkError("no answer"),
    )
    assert attempts_after(*errors, monkeypatch=monkeypatch) == len(errors) + 1


@pytest.mark.parametrize(
    "error",
    [
        SetUpError("a setting"),
        Replaced("a newer service"),
        BrokenChain("a gap"),
        Unreachable("no broker before the first epoch"),
        pa.ArrowInvalid("Failed to parse string: 'q' as a scalar of type int64"),
        DeltaError("Schema error: No field named z."),
        FileNotFoundError(2, "No such file or directory", verb.__file__ + ".html"),
        AnalysisException("a column is missing"),
        Py4JError(f"{JAVA}java.lang.ClassCastException: a string is not a long"),
        KeyError("partition"),
    ],
    ids=repr,
)
def test_a_defect_or_a_setting_ends_the_process(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    assert attempts_after(error, monkeypatch=monkeypatch) == 1
