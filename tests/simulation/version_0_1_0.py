"""A start as version 0.1.0 makes it: it fences panes, dead letters and event ids under `tidemark`.

All else that it commits is what this version commits, and it also looks for both fences before each commit.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, Transaction

from tests.simulation.writers import current
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.housekeeping import take_over as take_over_now
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, EVENT_IDS, PANES, USER_TOTALS, is_table, result_of

APPENDED: Final = (PANES, DEAD_LETTERS, EVENT_IDS)
WRITER: Final = "old_start"
"""The writer of a run that starts a service of version 0.1.0."""


def take_over(
    warehouse: str, reports: Iterable[Report], opened_by: int, closed: Mapping[str, int] | None = None
) -> None:
    """Fences every table for the epoch that batch `opened_by` opens, as version 0.1.0 does."""
    for spec in APPENDED:
        if is_table(uri := spec.uri(warehouse)):
            _fence(Handle(uri), opened_by, "tidemark", "tidemark-written")
    for report in reports:
        ends = [closed[report.name]] if closed and report.windows.by_time else []
        lowered = [Transaction("tidemark-closed", max(0, end)) for end in ends]
        _fence(Handle(result_of(report).uri(warehouse)), opened_by, "tidemark-fenced", lowered=lowered)
    if is_table(uri := USER_TOTALS.uri(warehouse)):
        _fence(Handle(uri), opened_by, "tidemark-fenced")


def take_over_of_writer(*how: Any) -> None:
    """Fences as the version of this thread's writer does."""
    writer = current()
    (take_over if writer and writer.kind == WRITER else take_over_now)(*how)


def refused_tables(warehouse: Path, last_batch: int) -> list[str]:
    """Returns the tables that a start of version 0.1.0 would take for older copies than the ledger."""
    names = {spec.name: "tidemark" for spec in APPENDED}
    fences = {
        path.name: DeltaTable(path).transaction_version(names.get(path.name, "tidemark-fenced")) or 0
        for path in warehouse.iterdir()
        if path.name not in ("ledger", "corrections")
    }
    return sorted(name for name, fence in fences.items() if 0 < fence // EPOCH < last_batch // EPOCH)


def _fence(handle: Handle, batch: int, *apps: str, lowered: Iterable[Transaction] = ()) -> None:
    done = [*(Transaction(app, batch) for app in apps), *lowered]
    empty = pa.schema(handle.table.schema()).empty_table()
    while not handle.swap(empty, by=batch, transactions=[*done, handle.amending()]):
        pass
