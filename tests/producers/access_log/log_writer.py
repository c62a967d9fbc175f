"""A web server's log on a disk, with all that logrotate does to it, and a reader that is killed now and then."""

import bz2
import gzip
import lzma
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from tidemark.producers.access_log.follow import Chunk, Follower
from tidemark.producers.access_log.log_position import LogPosition

BLOCK_BYTES = 256
Link = Callable[[Path, Path], None]
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}


@dataclass
class Server:
    """Writes lines to `access.log` in the folder, in any pieces, and keeps them all in `written`."""

    folder: Path
    written: list[bytes] = field(default_factory=list)
    _pending: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.log = self.folder / "access.log"
        self._file = self.log.open("ab", buffering=0)

    def line(self, length: int) -> None:
        """Has one more line to write, of its own number and some more."""
        self.say(b"%d " % len(self.written) + b"x" * length)

    def say(self, text: bytes) -> None:
        """Has one more line to write."""
        self.written.append(text)
        self._pending += text + b"\n"

    def write(self, share: float = 1) -> None:
        """Writes `share` of the pending bytes, even if that ends within a line."""
        count = round(len(self._pending) * share)
        self._file.write(self._pending[:count])
        del self._pending[:count]

    def rename(self) -> None:
        """Rotates by renaming; the server writes on to the file that it has open."""
        self._shift()
        self.log.rename(self.rotated(1))

    def reopen(self) -> None:
        """Makes the server reopen the log, as by a signal."""
        self.write()
        self._file.close()
        self._file = self.log.open("ab", buffering=0)

    def copy(self) -> None:
        """Rotates by a copy."""
        self._shift()
        shutil.copyfile(self.log, self.rotated(1))

    def truncate(self) -> None:
        """Empties the log itself, after a copy."""
        self._file.truncate(0)

    def compress(self, number: int, suffix: str = ".gz") -> None:
        """Compresses a rotated file, if it exists."""
        if self.rotated(number).exists():
            self.begin_compression(number, suffix)
            self.end_compression(number, suffix)

    def begin_compression(self, number: int, suffix: str) -> None:
        """Writes a part of the compressed file."""
        content = COMPRESS[suffix](self.rotated(number).read_bytes())
        self.rotated(number, suffix).write_bytes(content[: len(content) // 2])

    def end_compression(self, number: int, suffix: str) -> None:
        """Writes the rest of the compressed file, and removes the other."""
        self.rotated(number, suffix).write_bytes(COMPRESS[suffix](self.rotated(number).read_bytes()))
        self.rotated(number).unlink()

    def rotated(self, number: int, suffix: str = "") -> Path:
        """Returns the path of the file `number` rotations ago."""
        return self.folder / f"access.log.{number}{suffix}"

    def close(self) -> None:
        """Ends the server."""
        self._file.close()

    def _shift(self) -> None:
        for number in range(30, 0, -1):
            for suffix in ("", *COMPRESS):
                if self.rotated(number, suffix).exists():
                    self.rotated(number, suffix).rename(self.rotated(number + 1, suffix))


class LinkedServer(Server):
    """Writes to a dated file, to which the log is a link."""

    def __init__(self, folder: Path, dated: str, link: Link) -> None:
        self._dated, self._make_link, self._day = folder / dated, link, 0
        super().__init__(folder)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.log.unlink()
        self.open_next()
        self.link()

    def open_next(self) -> None:
        """Goes on to the file of the next day."""
        self._file.close()
        self._day += 1
        self._current.parent.mkdir(exist_ok=True)
        self._file = self._current.open("ab", buffering=0)

    def unlink(self) -> None:
        """Removes the link."""
        self.log.unlink()

    def link(self) -> None:
        """Makes the link to the current file."""
        self._make_link(self._current, self.log)

    @property
    def _current(self) -> Path:
        return Path(str(self._dated).format(self._day))


@dataclass
class Reader:
    """Follows a log, and stores the committed lines and the position after them."""

    log: Path
    settle_s: float = 0
    now: float = 0
    lines: list[bytes] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    position: LogPosition | None = None

    def __post_init__(self) -> None:
        self.follower = self._new()

    def chunk(self) -> Chunk | None:
        """Reads once, and commits it."""
        chunk = self.follower.read()
        if chunk:
            self.lines += [line.text for line in chunk.lines]
            self.position = chunk.position
        return chunk

    def all(self) -> None:
        """Reads and commits all lines of the log."""
        while self.chunk():
            pass

    def kill(self, *, after_reading: bool = False) -> None:
        """Starts again from what was committed, having lost what was only read."""
        if after_reading:
            self.follower.read()
        self.follower.close()
        if self.position:
            self.position = LogPosition.from_json(self.position.to_json())
        self.follower = self._new()

    def _new(self) -> Follower:
        return Follower(
            self.log,
            self.position,
            settle_s=self.settle_s,
            clock=lambda: self.now,
            report=self.reports.append,
            block=BLOCK_BYTES,
        )
