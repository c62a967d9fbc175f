"""The position of a reader in a log: the file, identified by its first bytes, and the offset in it."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Self

HEAD: Final = 1024
"""Maximal number of first bytes that identify a file, fewer if fewer were read. Names and inodes do not identify it,
because they change when it is renamed, copied or compressed."""


@dataclass(frozen=True)
class FilePosition:
    """A position in one file: its first `length` bytes have `digest`, and it was read up to byte `offset`."""

    length: int
    digest: str
    offset: int

    @classmethod
    def after(cls, head: bytes, offset: int) -> Self:
        """Returns the position at `offset` of the file that begins with `head`."""
        return cls(len(head), _digest(head), offset)

    def is_in(self, head: bytes) -> bool:
        """Returns whether a file that begins with `head` is the file of this position."""
        return len(head) >= self.length and _digest(head[: self.length]) == self.digest


@dataclass(frozen=True)
class LogPosition:
    """All lines before `here` were sent. `before` is the end of the preceding file, if there was one."""

    here: FilePosition
    before: FilePosition | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the position as a JSON object."""
        return {"here": vars(self.here), "before": self.before and vars(self.before)}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Returns the position of which `to_json` made `fields`."""
        before = fields["before"]
        return cls(FilePosition(**fields["here"]), FilePosition(**before) if before else None)


def _digest(head: bytes) -> str:
    return blake2b(head, digest_size=16).hexdigest()
