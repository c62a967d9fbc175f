"""Faults that the store itself commits: a table that refuses one write, as a full or unreachable one would.

A constraint put on a Delta table from outside makes the writer fail after its data files and before its commit. So a
service can be stopped between any two of its steps, and nothing of it is patched.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

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
        _commit(partial(_refuse, warehouse, refusal), "a constraint")
    yield
    for refusal in refusals:
        _commit(partial(_take_again, warehouse, refusal), "the end of a constraint")


@contextmanager
def undeletable(warehouse: Path, name: str) -> Iterator[None]:
    """Within the context rows of a table cannot be removed."""
    _commit(partial(_set_append_only, warehouse, name, "true"), "a property")
    yield
    _commit(partial(_set_append_only, warehouse, name, "false"), "the end of a property")


def _refuse(warehouse: Path, refusal: Refusal) -> None:
    _table(warehouse, refusal.table).alter.add_constraint({NAME: refusal.condition})


def _take_again(warehouse: Path, refusal: Refusal) -> None:
    _table(warehouse, refusal.table).alter.drop_constraint(NAME)


def _set_append_only(warehouse: Path, name: str, value: str) -> None:
    _table(warehouse, name).alter.set_table_properties({"delta.appendOnly": value})


def _commit(change: Callable[[], None], what: str) -> None:
    """Makes a change, again if a service committed in between."""

    def has_landed() -> bool:
        with suppress(CommitFailedError):
            change()
            return True
        return False

    wait_for(has_landed, PATIENCE_S, what)


def _table(warehouse: Path, name: str) -> DeltaTable:
    return DeltaTable(str(warehouse / name))
