"""Lines from standard input: read once, and gone when the process is."""

import os
import select
from typing import Final

from producers.access_log.follow import Chunk, lines_from
from producers.access_log.opened import BLOCK, LONGEST

_STDIN: Final = 0


class Stream:
    """Lines from a pipe. Nobody can go back in it, so its chunks have no position."""

    def __init__(self, descriptor: int = _STDIN) -> None:
        self.at_end = False
        """Whether the writer has closed it."""
        self._descriptor = descriptor
        self._rest, self._offset = b"", 0

    def read(self) -> Chunk | None:
        """The lines that have come; None if there are none now."""
        if self.at_end or not select.select([self._descriptor], [], [], 0)[0]:
            return None
        block = os.read(self._descriptor, BLOCK)
        self.at_end = not block
        *texts, rest = (self._rest + block).split(b"\n")
        if self.at_end and rest:
            texts, rest = [rest], b""
        lines = lines_from(self._offset, texts)
        self._offset += sum(len(text) + 1 for text in texts)
        # Of a line without end no more is kept than shows that it is too long.
        self._rest = rest[: LONGEST + 1]
        return Chunk(lines, None) if lines else None

    def close(self) -> None:
        """Leaves it open: it is not this process's to close."""
