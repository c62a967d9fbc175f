"""A file of the log, open; it stays readable when it is renamed, compressed or removed."""

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import Final

from producers.access_log.files import LogFile
from producers.access_log.place import HEAD
from producers.errors import SetupError

BLOCK: Final = 1 << 20
"""So many bytes are read at a time."""
LONGEST: Final = 1 << 16
"""A longer line is not looked into. nginx takes 32 KiB of headers and URL."""


class Moved(Exception):
    """The name stands for another file by now: the folder is to be read again."""


class Opened:
    """Content from a file, plain or compressed, by its offset in plain."""

    def __init__(self, file: LogFile) -> None:
        """Raises Moved if the name stands for another file, SetupError if it cannot be opened."""
        self.file = file
        self.is_compressed = file.path.suffix == ".gz"
        self._raw = _open(file.path)
        found = os.fstat(self._raw.fileno())
        if (found.st_dev, found.st_ino) != file.identity:
            self._raw.close()
            raise Moved
        self._content = gzip.GzipFile(fileobj=self._raw) if self.is_compressed else self._raw

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset`, fewer than `length` only at the end. Raises SetupError if they are no gzip."""
        try:
            self._content.seek(offset)
            parts = []
            while length and (part := self._content.read(length)):
                parts.append(part)
                length -= len(part)
            return b"".join(parts)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise SetupError(f"{self.file.path} is broken as a gzip file ({error}); mend or remove it") from error

    def head(self) -> bytes:
        """How the file begins."""
        return self.read(0, HEAD)

    def still_begins(self, head: bytes) -> bool:
        """Whether it begins as before; else it was truncated, and written anew perhaps."""
        return self.is_compressed or self.read(0, len(head)) == head

    def changed_at(self) -> float:
        """When it was last written to, in seconds of the clock; 0 if nobody will write to it again."""
        return 0 if self.is_compressed else os.fstat(self._raw.fileno()).st_mtime

    def close(self) -> None:
        """Closes it."""
        self._content.close()
        self._raw.close()


def head_of(file: LogFile) -> bytes:
    """How a file begins. Raises Moved and SetupError as `Opened` does."""
    opened = Opened(file)
    try:
        return opened.head()
    finally:
        opened.close()


def _open(path: Path) -> io.FileIO:
    try:
        return io.FileIO(path)
    except FileNotFoundError:
        raise Moved from None
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}; allow it") from error
