"""What it costs to publish a day's window after many batches: from panes as the service writes and compacts them."""

import time
from pathlib import Path
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable
from rich.table import Table

from pipeline.frames import columns as c
from pipeline.tables.compaction import Compaction
from pipeline.tables.kinds.registry import kind_of
from pipeline.tables.layout import create_tables
from pipeline.tables.publication import Publication
from pipeline.tables.schemas import PANES
from pipeline.tables.write import Appender
from pipeline.time.batch import EPOCH
from pipeline.time.due import Due
from pipeline.time.report import Report
from pipeline.time.strategies import Bounded
from pipeline.time.verdicts import Policy
from pipeline.time.windows.grid import Grid

_DAY_MS: Final = 86_400_000
_COMPACT_EVERY: Final = 100
REPORT: Final = Report("page_views", Grid(_DAY_MS, _DAY_MS), 0)
POLICY: Final = Policy(Bounded(0), 1, 0, (REPORT,))


def seconds_to_publish(batches: int, users: int, work: Path) -> dict[int, dict[str, float]]:
    """After 100 batches and after all of them: seconds, files and rows. Each batch brings `users` rows of a day."""
    warehouse = str(work / "day")
    create_tables(warehouse, POLICY)
    panes, compaction = Appender(PANES, warehouse), Compaction(warehouse, [kind_of(REPORT)])
    found = {}
    for number in range(1, batches + 1):
        panes.append(_rows(number, users), EPOCH + number)
        if number % _COMPACT_EVERY == 0:
            compaction(EPOCH + number, 0)
        if number in (_COMPACT_EVERY, batches):
            found[number] = _published(warehouse, number)
    return found


def _rows(number: int, users: int) -> pa.Table:
    names = [f"user-{(number * users + place) % (10 * users)}" for place in range(users)]
    told = {c.BATCH: EPOCH + number, c.REPORT: REPORT.name, c.PANE_START: 0, c.PAGE_VIEWS: 1, c.CLICKS: 0}
    columns = {
        name: pa.repeat(pa.scalar(value), users) for name, value in {**told, c.WATERMARK: 0, c.CLOSED_UNTIL: 0}.items()
    }
    empty = {name: pa.nulls(users) for name in PANES.schema.names if name not in columns}
    return pa.table({**empty, **columns, c.USER_ID: pa.array(names), c.LATE_EVENTS: pa.repeat(pa.scalar(0), users)})


def _published(warehouse: str, number: int) -> dict[str, float]:
    publication = Publication(warehouse, [kind_of(REPORT)])
    due = {REPORT.name: Due(again=frozenset({_DAY_MS}), fired_by={_DAY_MS: EPOCH + number})}
    began = time.perf_counter()
    publication.publish(due, EPOCH + number)
    seconds = time.perf_counter() - began
    table = DeltaTable(PANES.uri(warehouse))
    return {"seconds": seconds, "files": len(table.file_uris()), "rows": table.to_pyarrow_table().num_rows}


def render(found: dict[int, dict[str, float]]) -> Table:
    """One row each."""
    table = Table(title="Publishing a window of a day", title_justify="left")
    for name in ("batches so far", "seconds", "files of panes", "rows of panes"):
        table.add_column(name, justify="right")
    for number, row in found.items():
        table.add_row(f"{number:,}", f"{row['seconds']:.3f}", f"{row['files']:.0f}", f"{row['rows']:,.0f}")
    return table
