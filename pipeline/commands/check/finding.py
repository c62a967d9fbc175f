"""What a check found."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pipeline.errors import TidemarkError
from pipeline.tables.faults import is_of_store, one_line


class Level(StrEnum):
    """How good or bad it is."""

    PASS = "pass"  # noqa: S105 - a word that is printed
    WARN = "warn"
    """A start succeeds, but something will not be as one thinks."""
    FAIL = "fail"
    """A start would not succeed, or its results would be wrong."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: about what, and what was found; where it is not well, what to do."""

    level: Level
    about: str
    said: str


def well(about: str, said: str) -> Finding:
    """Nothing to do."""
    return Finding(Level.PASS, about, said)


def doubtful(about: str, said: str) -> Finding:
    """Something to look at."""
    return Finding(Level.WARN, about, said)


def wrong(about: str, said: str) -> Finding:
    """Something to put right."""
    return Finding(Level.FAIL, about, said)


def tried(about: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of a look; what a start would raise there is one, too."""
    try:
        yield from look()
    except TidemarkError as error:
        yield wrong(about, str(error))
    except Exception as error:
        if not is_of_store(error):
            raise
        yield wrong(about, f"the store failed: {one_line(error)}")
