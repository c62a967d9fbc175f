"""The files of a log in order of time: what rotation has left beside it, and the log itself."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from producers.errors import SetupError

_COUNTS_BACK: Final = 5
"""A number of at most so many digits counts rotations, the newest being the lowest; a longer one is a date."""
_DATE: Final = r"(?:19|20)\d\d[._-]?(?:0[1-9]|1[0-2])(?:[\d._-]*\d)?|1\d{9}"
"""A date, which may have a time, or seconds since 1970."""
_GAP: Final = 9
"""Of rotations in front of an extension at most so many may be missing: a higher number is another log's, as a port."""


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
        names = _pattern(log)
        matches = [match for path in log.parent.iterdir() if (match := names.fullmatch(path.name))]
        highest = _GAP + sum(match[2] is not None for match in matches)
        ours = sorted((match for match in matches if int(match[2] or 0) <= highest), key=_age)
        files = {match[0]: _stat(log.parent / match[0]) for match in ours}
    except FileNotFoundError:
        return _snapshot(log) if log.parent.is_dir() else []
    except OSError as error:
        raise SetupError(f"the folder {log.parent} cannot be read: {error.strerror}; allow it") from error
    # While a file is being compressed, its beginning stands beside it. A log that is a link has two names.
    newest = {file.identity: name for name, file in files.items()}
    return [
        file
        for name, file in files.items()
        if newest[file.identity] == name and not (name.endswith(".gz") and name.removesuffix(".gz") in files)
    ]


def _stat(path: Path) -> LogFile:
    found = path.stat()
    return LogFile(path, (found.st_dev, found.st_ino), found.st_size)


def _pattern(log: Path) -> re.Pattern[str]:
    """Matches the log's name and those of its rotated files.

    Groups are the number behind the name, and in front of its extension a number of rotations or a date.
    """
    name, stem, suffix = (re.escape(part) for part in (log.name, log.stem, log.suffix))
    in_front = rf"(?:\.(\d{{1,{_COUNTS_BACK}}})|[.-]({_DATE}))"
    return re.compile(rf"{name}|(?:{name}[.-](\d[\d._-]*?)|{stem}{in_front}{suffix})(?:\.gz)?")


def _age(match: re.Match[str]) -> tuple[int, int, str]:
    """What orders a file among the others, by the match of its name."""
    digits = re.sub(r"\D", "", match[1] or match[2] or match[3] or "")
    if not digits:
        return 2, 0, ""
    return (1, -int(digits), "") if len(digits) <= _COUNTS_BACK else (0, 0, digits)
