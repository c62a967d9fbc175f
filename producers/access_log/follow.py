"""Follows a log through rotation, truncation and restarts: each line once, in order."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tidemark.producers.access_log.files import LogFile, files_of
from tidemark.producers.access_log.log_position import HEAD, FilePosition, LogPosition
from tidemark.producers.access_log.open_file import BLOCK_BYTES, LONGEST_LINE, FileReplaced, OpenFile, head_of


class Line(NamedTuple):
    """A line without its line end, and the offset in its file at which it begins, in bytes."""

    text: bytes
    offset: int


def lines_from(offset: int, texts: Iterable[bytes]) -> list[Line]:
    """Returns `texts` as lines; the first begins at `offset`, and a line end of one byte follows each."""
    lines = []
    for text in texts:
        lines.append(Line(text, offset))
        offset += len(text) + 1
    return lines


@dataclass(frozen=True)
class Chunk:
    """Lines and the position after them; None if the source cannot be read again."""

    lines: Sequence[Line]
    position: LogPosition | None


class Follower:
    """Reads the lines of a log and of its rotated files, from the position at which another follower stopped."""

    def __init__(
        self,
        log: Path,
        position: LogPosition | None,
        *,
        settle_s: float,
        clock: Callable[[], float],
        report: Callable[[str], None],
        block: int = BLOCK_BYTES,
    ) -> None:
        """Starts at `position`, or at the oldest file if it is None.

        The next file is read once the rotated file has not changed for `settle_s` seconds. `report` is called with a
        sentence when lines were lost before they were read. `block` bytes are read at a time.
        """
        self.at_end = False
        """Whether the last read reached the end of the newest file."""
        self._log, self._position, self._block = log, position, block
        self._settle_s, self._clock, self._report = settle_s, clock, report
        self._opened: OpenFile | None = None
        self._head, self._offset = b"", 0
        self._before: FilePosition | None = None
        self._listed: Sequence[LogFile] = ()
        """The listing from which the open file was chosen."""

    def read(self) -> Chunk | None:
        """Returns the next lines, None if there are no lines yet. Raises SetUpError if a file cannot be read."""
        try:
            return self._read()
        except FileReplaced:
            self.at_end = False
            return None

    def close(self) -> None:
        """Closes the file that is being read."""
        if self._opened:
            self._opened.close()
        self._opened = None

    def _read(self) -> Chunk | None:
        while opened := self._opened or self._find():
            # Before the file is read: a file that is settled now cannot grow after the read.
            files, settled = files_of(self._log), self._is_settled(opened)
            newer = self._next_file(files, opened)
            block = opened.read(self._offset, self._block)
            # Also the bytes just read, because a file may be truncated while it is read.
            if not opened.begins_with((self._head + block)[:HEAD]) or self._is_out_of_turn(opened):
                self.close()
                continue
            if chunk := self._lines(opened, block, is_last=newer is not None and settled):
                return chunk
            self.at_end = newer is None
            if newer is None or not settled:
                return None
            self._go_on(newer, files)
        self.at_end = True
        return None

    def _is_out_of_turn(self, opened: OpenFile) -> bool:
        """Returns whether the open file, while unread, may have been copied and truncated since it was chosen.

        Its former lines are then in a file that was not listed, which must be read before the block just read.
        """
        if self._offset:
            return False
        files = files_of(self._log)
        index = _listed_at(files, opened)
        if index is not None:
            return any(file.size and file not in self._listed for file in files[:index])
        # The open file was compressed and is found by its content, or was removed and has the only copy of its lines.
        head = opened.head()
        return not head or _index(files, FilePosition.after(head, 0)) is not None

    def _is_settled(self, opened: OpenFile) -> bool:
        return self._clock() - opened.changed_at() >= self._settle_s

    def _lines(self, opened: OpenFile, block: bytes, *, is_last: bool) -> Chunk | None:
        """Returns the complete lines of a block; if `is_last` is true, the unfinished rest is a line, too."""
        length = block.rfind(b"\n") + 1
        if not length and len(block) == self._block:
            length, block = self._long_line(opened, is_last=is_last), block[: LONGEST_LINE + 1]
            texts = [block]
        elif not length and is_last:
            length, texts = len(block), [block]
        else:
            texts = block[:length].split(b"\n")[:-1]
        if not length:
            return None
        lines = lines_from(self._offset, texts)
        if len(self._head) < HEAD:
            self._head = (self._head + block)[: min(HEAD, self._offset + length)]
        self._offset += length
        self._position = LogPosition(FilePosition.after(self._head, self._offset), self._before)
        return Chunk(lines, self._position)

    def _long_line(self, opened: OpenFile, *, is_last: bool) -> int:
        """Returns the length of a line that is longer than a block, in bytes; 0 while it is unfinished."""
        length = self._block
        while block := opened.read(self._offset + length, self._block):
            end = block.find(b"\n") + 1
            length += end or len(block)
            if end:
                return length
        return length if is_last else 0

    def _find(self) -> OpenFile | None:
        """Opens the file of the position, or the oldest file without a position. Returns None if there is no file."""
        files = files_of(self._log)
        # Without any file, a link may be about to be replaced: nothing is lost yet.
        while self._position and files:
            index = _index(files, self._position.here)
            if index is not None:
                return self._open(files[index], files, self._position.here, self._position.before)
            if files_of(self._log)[:-1] != files[:-1]:
                raise FileReplaced  # copied and truncated since it was listed: its lines are in a file listed later
            self._report(
                f"the file of {self._log} that was read up to byte {self._position.here.offset} is gone; what was "
                "written to it after that is lost"
            )
            before = self._position.before
            self._position = LogPosition(before) if before else None
        return self._open(files[0], files, None, None) if files else None

    def _open(
        self, file: LogFile, listed: Sequence[LogFile], position: FilePosition | None, before: FilePosition | None
    ) -> OpenFile:
        """Opens a file at `position`, None for its start. Raises FileReplaced if the position is in another file."""
        opened = OpenFile(file)
        head = opened.head()[: position.length] if position else b""
        if position and not position.is_in(head):
            opened.close()
            raise FileReplaced
        self._head, self._offset = head, position.offset if position else 0
        self._listed, self._before, self._opened = listed, before, opened
        return opened

    def _next_file(self, files: Sequence[LogFile], opened: OpenFile) -> LogFile | None:
        """Returns the oldest non-empty file that is newer than `opened`."""
        positions = (FilePosition.after(self._head, self._offset), self._before)
        index = _listed_at(files, opened)
        for position in positions:
            if index is None and position and position.length:
                index = _index(files, position)
        return next((file for file in files[0 if index is None else index + 1 :] if file.size), None)

    def _go_on(self, file: LogFile, listed: Sequence[LogFile]) -> None:
        """Moves from the finished file to `file`. If both begin alike, `file` is a copy and is read from `here`."""
        finished = self._opened
        here = FilePosition.after(self._head, self._offset) if self._offset else None
        if here and here.is_in(head_of(file)):
            self._open(file, listed, here, self._before)
        else:
            self._open(file, listed, None, here or self._before)
        if finished:
            finished.close()


def _listed_at(files: Sequence[LogFile], opened: OpenFile) -> int | None:
    """Returns the index of the open file in `files`, None if it was removed or compressed."""
    return next((index for index, file in enumerate(files) if file.identity == opened.file.identity), None)


def _index(files: Sequence[LogFile], position: FilePosition) -> int | None:
    """Returns the index of the newest of `files` that contains `position`, None if no file does."""
    for index in reversed(range(len(files))):
        if position.is_in(head_of(files[index])):
            return index
    return None
