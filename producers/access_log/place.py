"""Where the reading of a log stands: in which file, known by how it begins, and how far."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Self

HEAD: Final = 1024
"""A file is known by so many of its first bytes, or as many as were read: by neither name nor inode, for those change
when it is renamed, copied or compressed."""


@dataclass(frozen=True)
class Place:
    """The file that begins with `length` bytes of such a digest, read up to the byte `offset` of its content."""

    length: int
    digest: str
    offset: int

    @classmethod
    def after(cls, head: bytes, offset: int) -> Self:
        """The place in a file that begins with `head`."""
        return cls(len(head), _digest(head), offset)

    def is_in(self, head: bytes) -> bool:
        """Whether a file that begins so is the place's."""
        return len(head) >= self.length and _digest(head[: self.length]) == self.digest


@dataclass(frozen=True)
class Position:
    """All before `here` is done with. `before` is the end of the file before it, if there was one."""

    here: Place
    before: Place | None = None

    def told(self) -> dict[str, Any]:
        """The position as JSON has it."""
        return {"here": vars(self.here), "before": self.before and vars(self.before)}

    @classmethod
    def read(cls, told: dict[str, Any]) -> Self:
        """The position of what `told` gave."""
        return cls(Place(**told["here"]), Place(**told["before"]) if told["before"] else None)


def _digest(head: bytes) -> str:
    return blake2b(head, digest_size=16).hexdigest()
