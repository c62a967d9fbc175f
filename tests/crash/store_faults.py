"""Faults that the store itself commits: a table that refuses one write, as a full or unreachable one would.

A constraint put on a Delta table from outside makes the writer fail after its data files and before its commit. So a
service can be stopped between any two of its steps, and nothing of it is patched.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.table import TableAlterer

from tests.support.waiting import PATIENCE_S, wait_for

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
        _alter(warehouse, refusal.table, methodcaller("add_constraint", {NAME: refusal.condition}))
    yield
    for refusal in refusals:
        _alter(warehouse, refusal.table, methodcaller("drop_constraint", NAME))


@contextmanager
def undeletable(warehouse: Path, name: str) -> Iterator[None]:
    """Within the context rows of a table cannot be removed."""
    _alter(warehouse, name, methodcaller("set_table_properties", {"delta.appendOnly": "true"}))
    yield
    _alter(warehouse, name, methodcaller("set_table_properties", {"delta.appendOnly": "false"}))


def _alter(warehouse: Path, name: str, change: Callable[[TableAlterer], None]) -> None:
    """Changes a table, again if a service committed in between."""

    def has_landed() -> bool:
        with suppress(CommitFailedError):
            change(DeltaTable(str(warehouse / name)).alter)
            return True
        return False

    wait_for(has_landed, PATIENCE_S, f"a change of {name}")
