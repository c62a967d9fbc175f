"""Checks that all tables of a warehouse are of one time: that no table comes from an older or newer copy.

It compares transaction versions with the ledger's newest batches, so it costs a start the same in a large warehouse.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from deltalake import DeltaTable

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.tables.durable import intact_version
from tidemark.pipeline.tables.fencing import fenced_epoch
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, EVENT_IDS, PANES, find_table, results_of
from tidemark.pipeline.tables.transactions import (
    CLOSED_APP,
    COMPACTION_APP,
    CORRECTED_APP,
    FENCED_APP,
    FORGOTTEN_APP,
    MERGED_APP,
    PUBLISHED_APP,
    WRITTEN_APP,
    version_of,
)

_REACHED: Final = (PUBLISHED_APP, FENCED_APP, COMPACTION_APP, FORGOTTEN_APP)
"""Batches that were in the ledger before a table recorded them."""
_COUNTED: Final = ("counted",)
_ROWS_BY_VERDICT: Final = {
    PANES.name: _COUNTED,
    EVENT_IDS.name: _COUNTED,
    DEAD_LETTERS.name: ("too_late", "future", "malformed", "partly_late", "erased"),
}
"""The columns of the ledger that count records of which a table has rows."""
Tables = Mapping[str, DeltaTable | None]


def require_new(warehouse: str) -> None:
    """Raises SetUpError if a warehouse without a ledger has tables."""
    if find_table(PANES.name, warehouse) is not None:
        _refuse(warehouse, ["it has tables, but no ledger"], 0)


def require_one_time(warehouse: str, ledger: Ledger, newest: int, last_batch: int, policy: Policy) -> None:
    """Raises SetUpError if a table is missing, or older or newer than the ledger.

    `newest` is the newest batch of the ledger, `last_batch` the last that opened no epoch, `policy` that of its epoch.
    """
    appended = [PANES, DEAD_LETTERS, *([EVENT_IDS] if policy.deduplicate else [])]
    # Panes before results, which close windows before their panes go; corrections last, which come before their rows.
    specs = (*appended, *results_of(policy), CORRECTIONS)
    tables = {spec.name: find_table(spec.name, warehouse, intact_version(spec.uri(warehouse))) for spec in specs}
    older = (*_older(tables, last_batch), *_lagging(tables, ledger, last_batch)) if last_batch else ()
    _refuse(warehouse, (*_newer(tables, newest), *older), newest)


def _refuse(warehouse: str, reasons: Sequence[str], newest: int) -> None:
    """Raises SetUpError with the first reason, unless the ledger has moved on: then a service uses these tables."""
    if not reasons:
        return
    rows = Ledger(warehouse, mends=False).latest()
    if (rows[0].batch if rows else 0) == newest:
        raise SetUpError(
            f"the warehouse {warehouse} cannot be used: {reasons[0]}. Its tables were copied or restored at different "
            "times: restore all of them from one copy (docs/operations.md#restore)"
        )


def _newer(tables: Tables, newest: int) -> Iterator[str]:
    for name, table in tables.items():
        reached = max((version_of(table, app) for app in _REACHED), default=0)
        if reached > newest:
            yield f"the table {name} is at batch {reached}, but the ledger ends with batch {newest}"
    decided = version_of(tables[CORRECTIONS.name], CORRECTED_APP)
    for name, table in tables.items():
        # Corrections of older versions do not record the last.
        if (added := version_of(table, CORRECTED_APP)) > decided and (decided or tables[CORRECTIONS.name] is None):
            yield f"the table {name} has correction {added}, but corrections ends with {decided}"


def _older(tables: Tables, last_batch: int) -> Iterator[str]:
    """Every table is fenced by an epoch before its first batch."""
    for name, table in tables.items():
        if name == CORRECTIONS.name:
            continue
        if table is None and name != UserTotals.name:  # totals are computed again
            yield f"the table {name} is missing, but the ledger has batch {last_batch}"
        if 0 < (epoch := fenced_epoch(table)) < last_batch // EPOCH:
            yield f"the table {name} ends in epoch {epoch}, but the ledger has batch {last_batch}"
    for name, table in tables.items():
        merged = version_of(tables[PANES.name], f"{MERGED_APP}{name}")
        if merged > (closed := version_of(table, CLOSED_APP)) and table is not None:
            yield f"the table {name} is final up to {closed}, but panes were removed up to {merged}"


def _lagging(tables: Tables, ledger: Ledger, last_batch: int) -> Iterator[str]:
    """Within an epoch a table records each batch with rows of it."""
    for name, verdicts in _ROWS_BY_VERDICT.items():
        written = version_of(tables.get(name), WRITTEN_APP)
        if written // EPOCH != last_batch // EPOCH or written >= last_batch:
            continue
        if missed := ledger.last_with(verdicts, written, last_batch + 1):
            yield f"the table {name} ends with batch {written}, but the ledger has rows of it in batch {missed}"
