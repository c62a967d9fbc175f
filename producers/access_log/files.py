"""The files of a log in order of time: what rotation has left beside it, and the log itself."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from producers.errors import SetupError

_COUNTS_BACK: Final = 5
"""A number of at most so many digits counts rotations, the newest being the lowest; a longer one is a date."""


@dataclass(frozen=True)
class LogFile:
    """A file as it was when the folder was read; `size` is in bytes on the disk."""

    path: Path
    identity: tuple[int, int]
    size: int


def files_of(log: Path) -> list[LogFile]:
    """The log and its rotated files, oldest first; empty if there are none. Raises SetupError if they cannot be read.

    Order is that of the names (`log.2.gz`, `log.1`, `log`, or `log-20240501`, `log`): times of files change when they
    are copied. The folder is read until it says the same twice, lest a rotation under way hide a file.
    """
    found = _snapshot(log)
    while found != (again := _snapshot(log)):
        found = again
    return found


def _snapshot(log: Path) -> list[LogFile]:
    try:
        names = (path.name for path in log.parent.iterdir())
        ages = {name: age for name in names if (age := _age(log, name)) is not None}
        files = {name: _stat(log.parent / name) for name in sorted(ages, key=ages.__getitem__)}
    except FileNotFoundError:
        return _snapshot(log) if log.parent.is_dir() else []
    except OSError as error:
        raise SetupError(f"the folder {log.parent} cannot be read: {error.strerror}; allow it") from error
    # While a file is being compressed, its beginning stands beside it.
    return [file for name, file in files.items() if name.removesuffix(".gz") not in files or not name.endswith(".gz")]


def _stat(path: Path) -> LogFile:
    found = path.stat()
    return LogFile(path, (found.st_dev, found.st_ino), found.st_size)


def _age(log: Path, name: str) -> tuple[int, int, str] | None:
    """What orders the file of a name among the others; None for one that is not of the log."""
    if name == log.name:
        return 2, 0, ""
    stem, suffix = re.escape(log.stem), re.escape(log.suffix)
    number = r"[.-](\d[\d._-]*?)"
    match = re.fullmatch(rf"{stem}(?:{suffix}{number}|{number}{suffix})(?:\.gz)?", name)
    if match is None:
        return None
    digits = re.sub(r"\D", "", match[1] or match[2])
    return (1, -int(digits), "") if len(digits) <= _COUNTS_BACK else (0, 0, digits)
