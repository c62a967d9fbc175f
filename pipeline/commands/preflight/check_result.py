"""What a check found."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from pipeline.errors import TidemarkError
from pipeline.tables.store_errors import is_of_store, one_line


class Level(StrEnum):
    """How good or bad it is."""

    PASS = "pass"  # noqa: S105 - a word that is printed
    WARN = "warn"
    """A start succeeds, but something will not be as one thinks."""
    FAIL = "fail"
    """A start would not succeed, or its results would be wrong."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line: about what, and what was found; where it is not well, what to do."""

    level: Level
    subject: str
    message: str


passed: Final = partial(CheckResult, Level.PASS)
"""Nothing to do."""
warning: Final = partial(CheckResult, Level.WARN)
"""Something to look at."""
failure: Final = partial(CheckResult, Level.FAIL)
"""Something to put right."""


def results_of(about: str, look: Callable[[], Iterable[CheckResult]]) -> Iterator[CheckResult]:
    """The findings of a look; what a start would raise there is one, too."""
    try:
        yield from look()
    except TidemarkError as error:
        yield failure(about, str(error))
    except Exception as error:
        if not is_of_store(error):
            raise
        yield failure(about, f"the store failed: {one_line(error)}")
