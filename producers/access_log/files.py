"""The files of a log, oldest first: rotated files, then the log itself."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from producers.errors import SetupError

_COUNTS_BACK: Final = 5
"""A suffix of at most this many digits counts rotations, the lowest being the newest; a longer suffix is a date."""
_DATE: Final = r"(?:19|20)\d\d[._-]?(?:0[1-9]|1[0-2])(?:[\d._-]*\d)?|1\d{9}"
"""A date with an optional time, or seconds since 1970."""
_GAP: Final = 9
"""At most this many rotation counts before an extension may be missing: a higher number belongs to another log, such as
a port."""


class FileId(NamedTuple):
    """The identity of a file on this machine."""

    device: int
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> "FileId":
        """Returns the identity in the result of `stat`."""
        return cls(stat.st_dev, stat.st_ino)


@dataclass(frozen=True)
class LogFile:
    """A file as it was when the folder was read; `size` is in bytes on disk."""

    path: Path
    identity: FileId
    size: int


def files_of(log: Path) -> list[LogFile]:
    """Returns `log` and its rotated files, oldest first; empty if there are no files.

    The order is that of the names (`log.2.gz`, `log.1`, `log`, or `log-20240501`, `log`), because the times of files
    change when they are copied. The folder is read until two listings agree, so that a concurrent rotation hides no
    file. Raises SetupError if the folder cannot be read.
    """
    files = _snapshot(log)
    while files != (newer := _snapshot(log)):
        files = newer
    return files


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
    # A file that is being compressed exists twice, the copy incomplete. A log that is a link has two names.
    newest = {file.identity: name for name, file in files.items()}
    return [
        file
        for name, file in files.items()
        if newest[file.identity] == name and not (name.endswith(".gz") and name.removesuffix(".gz") in files)
    ]


def _stat(path: Path) -> LogFile:
    stat = path.stat()
    return LogFile(path, FileId.of(stat), stat.st_size)


def _pattern(log: Path) -> re.Pattern[str]:
    """Returns a pattern of the names of `log` and of its rotated files.

    Its groups are the number after the name, the rotation count before the extension, and the date before it.
    """
    name, stem, suffix = (re.escape(part) for part in (log.name, log.stem, log.suffix))
    in_front = rf"(?:\.(\d{{1,{_COUNTS_BACK}}})|[.-]({_DATE}))"
    return re.compile(rf"{name}|(?:{name}[.-](\d[\d._-]*?)|{stem}{in_front}{suffix})(?:\.gz)?")


def _age(match: re.Match[str]) -> tuple[int, int, str]:
    """Returns the sort key of a file, oldest first, from the match of its name."""
    digits = re.sub(r"\D", "", match[1] or match[2] or match[3] or "")
    if not digits:
        return 2, 0, ""
    return (1, -int(digits), "") if len(digits) <= _COUNTS_BACK else (0, 0, digits)
