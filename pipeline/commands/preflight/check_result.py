"""Results of checks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from tidemark.pipeline.errors import TidemarkError
from tidemark.pipeline.tables.store_errors import is_of_store, one_line


class Level(StrEnum):
    """Severity of a result."""

    PASS = "pass"  # noqa: S105 - a word that is printed
    WARN = "warn"
    """`run` starts, but something may not behave as expected."""
    FAIL = "fail"
    """`run` would not start, or its results would be wrong."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A line of the output: the subject, and what was found with what to do."""

    level: Level
    subject: str
    message: str


passed: Final = partial(CheckResult, Level.PASS)
warning: Final = partial(CheckResult, Level.WARN)
failure: Final = partial(CheckResult, Level.FAIL)


def results_of(subject: str, check: Callable[[], Iterable[CheckResult]]) -> Iterator[CheckResult]:
    """Yields the results of `check`; an error that `run` would raise is a failure of `subject`."""
    try:
        yield from check()
    except TidemarkError as error:
        yield failure(subject, str(error))
    except Exception as error:
        if not is_of_store(error):
            raise
        yield failure(subject, f"the store failed: {one_line(error)}")
