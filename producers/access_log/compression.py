"""The compressions of rotated files that are read, by suffix."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Final

import pyarrow as pa


class ZstdFile(io.RawIOBase):
    """The content of a file of Zstandard, read by pyarrow, whose stream can only be read forwards."""

    def __init__(self, raw: io.FileIO) -> None:
        super().__init__()
        self._raw = raw
        self._rewind()

    def read(self, size: int = -1) -> bytes:
        """Returns the next `size` bytes, fewer only at the end."""
        chunk: bytes = self._stream.read(size if size >= 0 else None)
        self._offset += len(chunk)
        return chunk

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to `offset` from the start, at most to the end."""
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("only from the start")
        if offset < self._offset:
            self._rewind()
        while self._offset < offset and self.read(min(offset - self._offset, io.DEFAULT_BUFFER_SIZE)):
            pass
        return self._offset

    def _rewind(self) -> None:
        self._raw.seek(0)
        # The stream closes its file when it is removed.
        file = io.FileIO(self._raw.fileno(), closefd=False)
        self._stream, self._offset = pa.CompressedInputStream(file, "zstd"), 0


Decompressed = Callable[[io.FileIO], io.BufferedIOBase | ZstdFile]

COMPRESSIONS: Final[dict[str, Decompressed]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": ZstdFile,
}
BROKEN: Final = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""Errors of reading a file that is broken or incomplete."""
