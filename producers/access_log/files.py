"""The files of a log, oldest first: rotated files, then the log itself."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from stat import S_ISLNK
from typing import Final, NamedTuple

from tidemark.producers.access_log.compression import COMPRESSIONS
from tidemark.producers.errors import SetUpError

_COUNT: Final = r"\d{1,5}"
"""A suffix of at most this many digits counts rotations, the lowest being the newest; a longer suffix is a date."""
_DATE: Final = r"(?:19|20)\d\d[._-]?(?:0[1-9]|1[0-2])(?:[\dT._-]*\d)?|1\d{9}"
"""A date with an optional time and count, or seconds since 1970."""
_COMPRESSED: Final = "|".join(map(re.escape, COMPRESSIONS))
Age = tuple[int, int, str, tuple[int, ...]]
_NEWEST: Final = (2, 0, "", ())
_DAY: Final = 8
"""Number of digits of a day. Digits after it are numbers: the tenth file of a day follows the ninth."""
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
    file. Raises SetUpError if the folder cannot be read.
    """
    files = _snapshot(log)
    while files != (newer := _snapshot(log)):
        files = newer
    return files


def unread_of(log: Path) -> list[str]:
    """Returns the names that begin like those of rotated files of `log` but have an unknown order or compression."""
    names = _pattern(log)
    with _readable(log.parent):
        beside = sorted(path.name for path in log.parent.iterdir())
    return [name for name in beside if re.match(rf"{re.escape(log.name)}[._-]", name) and not names.fullmatch(name)]


def _snapshot(log: Path) -> list[LogFile]:
    try:
        with _readable(log.parent):
            paths = list(log.parent.iterdir())
            ages = {**_linked(log, paths), **_rotated(log, paths)}
            files = {path: file for path in sorted(ages, key=lambda path: ages[path]) if (file := _stat(path))}
    except FileNotFoundError:
        return _snapshot(log) if log.parent.is_dir() else []
    # A file may have two names, and exists twice while it is compressed, the copy incomplete.
    rotated = {
        file.identity: file
        for path, file in files.items()
        if not (path.suffix in COMPRESSIONS and path.with_suffix("") in files)
    }
    newest = files.get(log)
    if newest is None:
        return list(rotated.values())
    # A log that is a link is the newest file, even if a file with a later date exists already.
    return [*takewhile(lambda file: file.identity != newest.identity, rotated.values()), newest]


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SetUpError(f"the folder {folder} cannot be read: {error.strerror}; allow it") from error


def _stat(path: Path) -> LogFile | None:
    """Returns the file, None for a link to a file that does not exist."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            return None
        raise
    return LogFile(path, FileId.of(stat), stat.st_size)


def _rotated(log: Path, paths: Sequence[Path]) -> dict[Path, Age]:
    """Returns the ages of those of `paths` with a name like the log's."""
    names = _pattern(log)
    matches = [(path, match) for path in paths if (match := names.fullmatch(path.name))]
    highest = _GAP + sum(match[2] is not None for _, match in matches)
    return {path: _age(match) for path, match in matches if int(match[2] or 0) <= highest}


def _linked(log: Path, paths: Sequence[Path]) -> dict[Path, Age]:
    """Returns the ages of the dated files if the log is a link to one of them; they may have another name or folder."""
    target = _target(log, paths)
    date = target and re.search(_DATE, target.name)
    if not target or not date or not target.parent.is_dir():
        return {}
    before, after = re.escape(target.name[: date.start()]), re.escape(target.name[date.end() :])
    names = re.compile(rf"{before}({_DATE}){after}(?:{_COMPRESSED})?")
    return {path: _age_of(match[1]) for path in target.parent.iterdir() if (match := names.fullmatch(path.name))}


def _target(log: Path, paths: Sequence[Path]) -> Path | None:
    """Returns the file to which a symbolic link leads, or the other name of a hard link in its folder."""
    if all(path.name != log.name for path in paths):
        return None
    stat = log.lstat()
    if S_ISLNK(stat.st_mode):
        return log.parent / log.readlink()
    others = (path for path in paths if path != log and path.exists()) if stat.st_nlink > 1 else ()
    return next((path for path in others if path.samefile(log)), None)


@lru_cache(maxsize=100)
def _pattern(log: Path) -> re.Pattern[str]:
    """Returns a pattern of the names of `log` and of its rotated files. A folder is read twice a poll.

    Its groups are the count or date after the name, the rotation count before the extension, and the date before it.
    """
    name, stem, suffix = (re.escape(part) for part in (log.name, log.stem, log.suffix))
    before_suffix = rf"(?:\.({_COUNT})|[._-]{{1,2}}({_DATE}))"
    return re.compile(rf"{name}|(?:{name}[._-]({_COUNT}|{_DATE})|{stem}{before_suffix}{suffix})(?:{_COMPRESSED})?")


def _age(match: re.Match[str]) -> Age:
    text = match[1] or match[2] or match[3]
    return _age_of(text) if text else _NEWEST


@lru_cache(maxsize=10_000)
def _age_of(text: str) -> Age:
    """Returns the sort key of a file, oldest first, from the count or date in its name."""
    if re.fullmatch(_COUNT, text):
        return 1, -int(text), "", ()
    text = re.sub(r"\D*(\d)", r"\1", text, count=_DAY)
    return 0, 0, text[:_DAY], tuple(map(int, re.findall(r"\d+", text[_DAY:])))
