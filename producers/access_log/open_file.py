"""An open file of the log; it stays readable when it is renamed, compressed or removed."""

import io
import os
from pathlib import Path
from typing import Final

from tidemark.producers.access_log.compression import BROKEN, COMPRESSIONS
from tidemark.producers.access_log.files import FileId, LogFile
from tidemark.producers.access_log.log_position import HEAD
from tidemark.producers.errors import SetUpError

BLOCK_BYTES: Final = 1 << 20
"""Number of bytes that are read at a time."""
LONGEST_LINE: Final = 1 << 16
"""A longer line, in bytes, is not parsed. nginx accepts 32 KiB of headers and URL."""


class FileReplaced(Exception):
    """The name now belongs to another file: read the folder again."""


class OpenFile:
    """The content of a file, plain or compressed; offsets are those of the uncompressed content."""

    def __init__(self, file: LogFile) -> None:
        """Raises FileReplaced if the name belongs to another file, SetUpError if it cannot be opened."""
        self.file = file
        self.is_compressed = file.path.suffix in COMPRESSIONS
        self._raw = _open(file.path)
        if FileId.of(os.fstat(self._raw.fileno())) != file.identity:
            self._raw.close()
            raise FileReplaced
        self._content = COMPRESSIONS[file.path.suffix](self._raw) if self.is_compressed else self._raw

    def read(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes from `offset`, fewer only at the end. Raises SetUpError if that fails."""
        try:
            self._content.seek(offset)
            chunks = []
            while length and (chunk := self._content.read(length)):
                chunks.append(chunk)
                length -= len(chunk)
            return b"".join(chunks)
        except BROKEN as error:
            raise SetUpError(f"{self.file.path} is broken ({error}); mend or remove it") from error

    def head(self) -> bytes:
        """Returns the first `HEAD` bytes of the file."""
        return self.read(0, HEAD)

    def begins_with(self, head: bytes) -> bool:
        """Returns whether the file still begins with `head`; if not, it was truncated."""
        return self.is_compressed or self.read(0, len(head)) == head

    def changed_at(self) -> float:
        """Returns when the file was last written to, in seconds since 1970; 0 if it is final."""
        return 0 if self.is_compressed else os.fstat(self._raw.fileno()).st_mtime

    def close(self) -> None:
        """Closes the file."""
        self._content.close()
        self._raw.close()


def head_of(file: LogFile) -> bytes:
    """Returns the first `HEAD` bytes of a file. Raises FileReplaced and SetUpError as `OpenFile` does."""
    opened = OpenFile(file)
    try:
        return opened.head()
    finally:
        opened.close()


def _open(path: Path) -> io.FileIO:
    try:
        return io.FileIO(path)
    except FileNotFoundError:
        raise FileReplaced from None
    except OSError as error:
        raise SetUpError(f"{path} cannot be read: {error.strerror}; allow it") from error
