"""`tidemark status`: what the tables say, read without Spark. Cheap enough to be asked once a second."""

import time
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from rich.console import Console

from pipeline.errors import SetUpError
from pipeline.frames import columns as c
from pipeline.observe.view import PartitionStatus, Status, WindowStatus, render
from pipeline.tables.ledger import EPOCH
from pipeline.tables.schemas import LEDGER, PAGE_VIEWS, TableSpec
from pipeline.time.verdicts import Verdict

_BATCHES_IN_RATE: Final = 10
_WINDOWS: Final = 5
_RECENT: Final = [c.BATCH, c.TOPIC, c.PARTITION, "to_offset", c.RECORDS, c.MAX_EVENT_TIME, c.WATERMARK, "committed_at"]


def print_status(warehouse: str, console: Console | None = None) -> None:
    """Prints the status. Raises SetUpError where there is no warehouse."""
    if not DeltaTable.is_deltatable(LEDGER.uri(warehouse)):
        raise SetUpError(f"there is no Tidemark warehouse at {warehouse!r}: name the one that a service writes to")
    (console or Console()).print(render(read_status(warehouse), time.time_ns() // 1_000_000))


def read_status(warehouse: str) -> Status:
    """The status as of the last commit; tables that do not exist yet count as empty."""
    ledger = _open(LEDGER, warehouse)
    if ledger is None:
        return Status(warehouse)
    rows = ledger.to_pyarrow_dataset()
    totals = rows.to_table(columns=[c.BATCH, *Verdict])
    if not len(totals):
        return Status(warehouse)
    newest = pc.max(totals[c.BATCH]).as_py()
    # Batch ids of an epoch follow one another, and those of the epoch before lie a billion back.
    recent = rows.to_table(columns=_RECENT, filter=pc.field(c.BATCH) > newest - _BATCHES_IN_RATE)
    last = recent.filter(pc.field(c.BATCH) == newest).sort_by(c.PARTITION).to_pylist()
    return Status(
        warehouse=warehouse,
        topic=last[0][c.TOPIC],
        epoch=newest // EPOCH,
        batch=newest % EPOCH,
        committed_at=last[0]["committed_at"],
        watermark=last[0][c.WATERMARK],
        records_per_second=_rate(recent),
        partitions=tuple(PartitionStatus(row[c.PARTITION], row["to_offset"], row[c.MAX_EVENT_TIME]) for row in last),
        verdicts={verdict: pc.sum(totals[verdict]).as_py() for verdict in Verdict},
        windows=_latest_windows(warehouse),
    )


def _rate(recent: pa.Table) -> float | None:
    """Records per second from the first of the batches to the last; None if there is no time between them."""
    first, last = (extreme(recent["committed_at"]).as_py() for extreme in (pc.min, pc.max))
    if first == last:
        return None
    records = recent.filter(pc.field("committed_at") > first)[c.RECORDS]
    return float(pc.sum(records).as_py() * 1000 / (last - first))


def _latest_windows(warehouse: str) -> tuple[WindowStatus, ...]:
    """Of the time that the last few windows span: found by Delta's statistics, so that older files are not opened."""
    table = _open(PAGE_VIEWS, warehouse)
    if table is None or not (end := _latest_end(table)):
        return ()
    rows, window_end = table.to_pyarrow_dataset(), pc.field(c.WINDOW_END)
    start = rows.head(1, columns=[c.WINDOW_START], filter=window_end == end)[c.WINDOW_START][0].as_py()
    oldest = end - _WINDOWS * (end - start)
    wanted = [c.WINDOW_START, c.WINDOW_END, c.PAGE_VIEWS, c.CLICKS, c.LATE_EVENTS]
    return _per_window(rows.to_table(columns=wanted, filter=window_end > oldest))


def _latest_end(table: DeltaTable) -> Any:
    """The end of the latest window as an aware datetime, from the statistics alone; None in an empty table."""
    actions = pa.table(table.get_add_actions(flatten=True))
    name = f"max.{c.WINDOW_END}"
    return pc.max(actions[name]).as_py() if name in actions.column_names else None


def _per_window(rows: pa.Table) -> tuple[WindowStatus, ...]:
    """A user has one row per window."""
    sums = [(name, "sum") for name in (c.PAGE_VIEWS, c.CLICKS, c.LATE_EVENTS)]
    found = rows.group_by([c.WINDOW_START, c.WINDOW_END]).aggregate([([], "count_all"), *sums])
    newest_first = found.sort_by([(c.WINDOW_END, "descending")]).to_pylist()
    return tuple(
        WindowStatus(
            start_ms=_milliseconds(row[c.WINDOW_START]),
            end_ms=_milliseconds(row[c.WINDOW_END]),
            users=row["count_all"],
            page_views=row[f"{c.PAGE_VIEWS}_sum"],
            clicks=row[f"{c.CLICKS}_sum"],
            late_events=row[f"{c.LATE_EVENTS}_sum"],
        )
        for row in newest_first
    )


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _open(spec: TableSpec, warehouse: str) -> DeltaTable | None:
    try:
        return DeltaTable(spec.uri(warehouse))
    except TableNotFoundError:
        return None
