"""Lines from standard input, which can be read only once."""

import os
import select
from typing import Final

from tidemark.producers.access_log.follow import Chunk, lines_from
from tidemark.producers.access_log.open_file import BLOCK_BYTES, LONGEST_LINE

_STDIN: Final = 0


class StandardInput:
    """Lines from a pipe. A pipe cannot be read again, so its chunks have no position."""

    def __init__(self, descriptor: int = _STDIN) -> None:
        self.at_end = False
        """Whether the writer has closed the pipe."""
        self._descriptor = descriptor
        self._rest, self._offset = b"", 0

    def read(self) -> Chunk | None:
        """Returns the lines that have arrived, None if there are no lines yet."""
        if self.at_end or not select.select([self._descriptor], [], [], 0)[0]:
            return None
        block = os.read(self._descriptor, BLOCK_BYTES)
        self.at_end = not block
        *texts, rest = (self._rest + block).split(b"\n")
        if self.at_end and rest:
            texts, rest = [rest], b""
        lines = lines_from(self._offset, texts)
        self._offset += sum(len(text) + 1 for text in texts)
        # Buffers just enough of an unfinished line to recognise it as too long.
        self._rest = rest[: LONGEST_LINE + 1]
        return Chunk(lines, None) if lines else None

    def close(self) -> None:
        """Does nothing: standard input belongs to the parent process."""
