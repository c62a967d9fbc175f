"""Faults that the store itself commits: a table that refuses one write, as a full or unreachable one would.

A constraint put on a Delta table from outside makes the writer fail after its data files and before its commit. So a
service can be stopped between any two of its steps, and nothing of it is patched.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable

NAME = "fault"


@dataclass(frozen=True)
class Refusal:
    """A table takes only rows for which `condition` holds."""

    table: str
    condition: str


@contextmanager
def refusing(warehouse: Path, refusals: Sequence[Refusal]) -> Iterator[None]:
    """Within the context the tables refuse; after it they are well again."""
    for refusal in refusals:
        _table(warehouse, refusal.table).alter.add_constraint({NAME: refusal.condition})
    yield
    for refusal in refusals:
        _table(warehouse, refusal.table).alter.drop_constraint(NAME)


@contextmanager
def undeletable(warehouse: Path, name: str) -> Iterator[None]:
    """Within the context rows of a table cannot be removed."""
    _table(warehouse, name).alter.set_table_properties({"delta.appendOnly": "true"})
    yield
    _table(warehouse, name).alter.set_table_properties({"delta.appendOnly": "false"})


def _table(warehouse: Path, name: str) -> DeltaTable:
    return DeltaTable(str(warehouse / name))
