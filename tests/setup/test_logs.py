"""Log lines on standard error, in the configured format."""

import json
import logging
import warnings
from collections.abc import Iterator
from typing import get_args

import pytest
import structlog

from tidemark.pipeline.logs import LogFormat, configure_logs


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Restores the configuration of logs for other tests."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level


def log_lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    """The lines, each an object; nothing is on standard output."""
    captured = capsys.readouterr()
    assert captured.out == ""
    return [json.loads(line) for line in captured.err.splitlines()]


def test_lines_of_tidemark_and_of_libraries_have_the_same_format(capsys: pytest.CaptureFixture[str]) -> None:
    logging.captureWarnings(capture=False)  # pytest has restored the capture of an earlier test
    configure_logs("json")
    structlog.get_logger().info("batch_committed", records=3)
    logging.getLogger("py4j").warning("gone after %s", "a minute")
    logging.getLogger("py4j").info("not worth a line")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    ours, theirs, warning = log_lines(capsys)
    assert (ours["event"], ours["level"], ours["records"]) == ("batch_committed", "info", 3)
    assert (theirs["event"], theirs["level"], theirs["logger"]) == ("gone after a minute", "warning", "py4j")
    assert "DeprecationWarning: old" in str(warning["event"])
    assert all(str(line["timestamp"]).endswith("Z") for line in (ours, theirs, warning))


def fail(password: str) -> None:
    """A caller whose secret is in a variable."""
    raise ValueError(len(password))


@pytest.mark.parametrize("log_format", get_args(LogFormat))
def test_a_traceback_contains_no_values(log_format: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(log_format)
    try:
        fail(chr(120) * 7)
    except ValueError:
        structlog.get_logger().exception("failed")
        logging.getLogger("library").exception("failed, too")
    printed = capsys.readouterr().err
    assert printed.count("ValueError: 7") == 2
    assert "x" * 7 not in printed


def test_fields_bound_to_a_batch_are_in_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json")
    with structlog.contextvars.bound_contextvars(batch=1_000_000_007):
        structlog.get_logger().info("first")
        logging.getLogger("library").warning("other")
    assert [line["batch"] for line in log_lines(capsys)] == [1_000_000_007] * 2
