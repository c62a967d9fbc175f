"""Sizes on disk, as the tables measure them and the metrics show them."""

from typing import NamedTuple


class Size(NamedTuple):
    """Of a table, by its live files and their statistics."""

    rows: int
    bytes: int
    files: int


class Space(NamedTuple):
    """Of a file system, in bytes."""

    total: int
    free: int
