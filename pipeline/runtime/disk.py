"""Sizes on disk, measured by the tables and exported as metrics."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Self


class Size(NamedTuple):
    """The size of a table, from its live files and their statistics."""

    rows: int
    bytes: int
    files: int


class Space(NamedTuple):
    """The size of a file system, in bytes."""

    total: int
    free: int


class Purpose(StrEnum):
    """The purpose of a commit: new rows, results, fewer files, or removed rows."""

    APPEND = "append"
    PUBLICATION = "publication"
    COMPACTION = "compaction"
    REMOVAL = "removal"


TablePurpose = tuple[str, Purpose]
"""The name of a table, and the purpose of commits to it."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of data files that commits added to tables, and that they removed, by table and purpose."""

    written: Counter[TablePurpose] = field(default_factory=Counter)
    replaced: Counter[TablePurpose] = field(default_factory=Counter)

    def __iadd__(self, other: Self) -> Self:
        self.written.update(other.written)
        self.replaced.update(other.replaced)
        return self
