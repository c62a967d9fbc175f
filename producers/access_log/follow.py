"""Following a log through rotation, truncation and restarts: each line once, in order."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from producers.access_log.files import LogFile, files_of
from producers.access_log.opened import BLOCK, LONGEST, Moved, Opened, head_of
from producers.access_log.place import HEAD, Place, Position


class Line(NamedTuple):
    """A line without its end, and where in its file it begins."""

    text: bytes
    offset: int


def lines_from(offset: int, texts: Iterable[bytes]) -> list[Line]:
    """Lines of which the first begins at `offset`, each with its end behind it."""
    lines = []
    for text in texts:
        lines.append(Line(text, offset))
        offset += len(text) + 1
    return lines


@dataclass(frozen=True)
class Chunk:
    """Lines, and the position after them; None where nobody can go back to it."""

    lines: Sequence[Line]
    position: Position | None


class Follower:
    """Lines of a log and of its rotated files. Reads on from a position that another follower gave."""

    def __init__(
        self,
        log: Path,
        position: Position | None,
        *,
        settle_s: float,
        clock: Callable[[], float],
        tell: Callable[[str], None],
        block: int = BLOCK,
    ) -> None:
        """`settle_s` is how long a rotated file must have been left alone before the next is read.

        `tell` is given a sentence when lines are gone before they were read. `block` bytes are read at a time.
        """
        self.at_end = False
        """Whether the last reading came to the end of the newest file."""
        self._log, self._position, self._block = log, position, block
        self._settle_s, self._clock, self._tell = settle_s, clock, tell
        self._opened: Opened | None = None
        self._head, self._offset = b"", 0
        self._before: Place | None = None
        self._listed: Sequence[LogFile] = ()
        """The files among which the open one was chosen."""

    def read(self) -> Chunk | None:
        """The next lines; None if there are none now. Raises SetupError if a file cannot be read."""
        try:
            return self._read()
        except Moved:
            self.at_end = False
            return None

    def close(self) -> None:
        """Closes the file that is being read."""
        if self._opened:
            self._opened.close()
        self._opened = None

    def _read(self) -> Chunk | None:
        while opened := self._opened or self._find():
            # Asked before the file is read: what is written to it later than this is not looked for.
            files, settled = files_of(self._log), self._is_settled(opened)
            newer = self._next_file(files, opened)
            block = opened.read(self._offset, self._block)
            if not opened.still_begins(self._head) or self._is_out_of_turn(opened):
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

    def _is_out_of_turn(self, opened: Opened) -> bool:
        """Whether the open file, of which nothing was read, may have been copied and truncated since it was chosen.

        What it had is in a file that was not listed then; what was just read from it is to be read after that.
        """
        if self._offset:
            return False
        files = files_of(self._log)
        index = _listed_at(files, opened)
        if index is not None:
            return any(file.size and file not in self._listed for file in files[:index])
        # It was compressed, and is found by its content, or it was removed, and is what is left of its lines.
        head = opened.head()
        return not head or _index(files, Place.after(head, 0)) is not None

    def _is_settled(self, opened: Opened) -> bool:
        return self._clock() - opened.changed_at() >= self._settle_s

    def _lines(self, opened: Opened, block: bytes, *, is_last: bool) -> Chunk | None:
        """The whole lines of a block; of a file that nobody writes to any more the rest is a line, too."""
        length = block.rfind(b"\n") + 1
        if not length and len(block) == self._block:
            length, block = self._long_line(opened, is_last=is_last), block[: LONGEST + 1]
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
        self._position = Position(Place.after(self._head, self._offset), self._before)
        return Chunk(lines, self._position)

    def _long_line(self, opened: Opened, *, is_last: bool) -> int:
        """The length of a line that is longer than a block; 0 while its end is not written."""
        length = self._block
        while block := opened.read(self._offset + length, self._block):
            end = block.find(b"\n") + 1
            length += end or len(block)
            if end:
                return length
        return length if is_last else 0

    def _find(self) -> Opened | None:
        """Opens the file of the position, or the oldest if there is no position yet; None if there is no file."""
        files = files_of(self._log)
        while self._position:
            index = _index(files, self._position.here)
            if index is not None:
                return self._open(files[index], files, self._position.here, self._position.before)
            if files_of(self._log)[:-1] != files[:-1]:
                raise Moved  # copied and truncated since it was listed: what it had is in a file that was not
            self._tell(
                f"the file of {self._log} that was read up to byte {self._position.here.offset} is gone; what was "
                "written to it after that is lost"
            )
            before = self._position.before
            self._position = Position(before) if before else None
        return self._open(files[0], files, None, None) if files else None

    def _open(self, file: LogFile, listed: Sequence[LogFile], place: Place | None, before: Place | None) -> Opened:
        """Opens a file at a place. Raises Moved if it is not the place's file any more."""
        opened = Opened(file)
        head = opened.head()[: place.length] if place else b""
        if place and not place.is_in(head):
            opened.close()
            raise Moved
        self._head, self._offset = head, place.offset if place else 0
        self._listed, self._before, self._opened = listed, before, opened
        return opened

    def _next_file(self, files: Sequence[LogFile], opened: Opened) -> LogFile | None:
        """The oldest of the newer files that has something in it."""
        places = (Place.after(self._head, self._offset), self._before)
        index = _listed_at(files, opened)
        for place in places:
            if index is None and place and place.length:
                index = _index(files, place)
        return next((file for file in files[0 if index is None else index + 1 :] if file.size), None)

    def _go_on(self, file: LogFile, listed: Sequence[LogFile]) -> None:
        """Leaves a file that is done with for the next. One that begins as it does is its copy, and is read on."""
        done = self._opened
        here = Place.after(self._head, self._offset) if self._offset else None
        if here and here.is_in(head_of(file)):
            self._open(file, listed, here, self._before)
        else:
            self._open(file, listed, None, here or self._before)
        if done:
            done.close()


def _listed_at(files: Sequence[LogFile], opened: Opened) -> int | None:
    """Which of the files is open; None if it was removed, or compressed."""
    return next((index for index, file in enumerate(files) if file.identity == opened.file.identity), None)


def _index(files: Sequence[LogFile], place: Place) -> int | None:
    """Which of the files is that of the place; the newest, where a copy stands beside it."""
    for index in reversed(range(len(files))):
        if place.is_in(head_of(files[index])):
            return index
    return None
