"""Sizes on disk, as the tables measure them and the metrics show them."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Self


class Size(NamedTuple):
    """Of a table, by its live files and their statistics."""

    rows: int
    bytes: int
    files: int


class Space(NamedTuple):
    """Of a file system, in bytes."""

    total: int
    free: int


class Purpose(StrEnum):
    """The end for which a commit wrote: new rows, results, fewer files, or that rows are gone."""

    APPEND = "append"
    PUBLICATION = "publication"
    COMPACTION = "compaction"
    REMOVAL = "removal"


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of data files by table and purpose: those that commits added, and those that they took out."""

    written: Counter[tuple[str, Purpose]] = field(default_factory=Counter)
    replaced: Counter[tuple[str, Purpose]] = field(default_factory=Counter)

    def __iadd__(self, other: Self) -> Self:
        self.written.update(other.written)
        self.replaced.update(other.replaced)
        return self
