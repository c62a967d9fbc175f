"""What it costs to publish sessions after few and after many batches that were not compacted."""

import time
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable
from rich.table import Table

from pipeline.frames import columns as c
from pipeline.tables.compaction import Compaction
from pipeline.tables.kinds.registry import kind_of
from pipeline.tables.layout import create_tables
from pipeline.tables.publication import Publication
from pipeline.tables.schemas import PANES, result_of
from pipeline.tables.write import Appender
from pipeline.time import lives
from pipeline.time.batch import EPOCH
from pipeline.time.due import Due
from pipeline.time.lateness import closed_until, in_time_from
from pipeline.time.report import Report
from pipeline.time.strategies import Bounded
from pipeline.time.verdicts import Policy
from pipeline.time.windows.session import Sessions, SessionState

_FEW: Final = 10
_BEGIN_MS: Final = 1_700_000_000_000
_BATCH_MS: Final = 1_000
_GAP_MS: Final = 30_000
_BOUND_MS: Final = 5_000
_STAY_BATCHES: Final = 60
"""Users come, bring something in every third batch, and go after so many."""
_LATE_ONE_IN: Final = 100
_LATE_MS: Final = 80_000
REPORT: Final = Report("visits", Sessions(_GAP_MS), 60_000)
POLICY: Final = Policy(Bounded(_BOUND_MS), 1, 0, (REPORT,))


def seconds_to_publish(batches: int, rows: int, work: Path) -> dict[int, dict[str, float]]:
    """After ten batches since a compaction and after `batches`, each with so many partial sessions."""
    warehouse = str(work / "sessions")
    create_tables(warehouse, POLICY)
    panes, state, due = Appender(PANES, warehouse), SessionState(REPORT), Due()
    found: dict[int, dict[str, float]] = {}
    for number in range(1, 2 * batches + 1):
        panes.append(_rows(number, rows), EPOCH + number)
        step = lives.moved(EPOCH + number, {_time(number)}, _watermark(number - 1), _watermark(number))
        new, state = state.after_batch(step)
        due = due.then(new)
        since = number - batches
        if since in (0, _FEW - 1, _FEW, batches - 1, batches):
            row, due = _published(warehouse, due, number), Due()
            # What is measured replaces what the batch before it has published.
            found |= {since: row} if since in (_FEW, batches) else {}
        if since == 0:
            Compaction(warehouse, [kind_of(REPORT)])(EPOCH + number, in_time_from(REPORT, _watermark(number)))
    return found


def _watermark(number: int) -> int:
    return _time(number) - _BOUND_MS


def _time(number: int) -> int:
    return _BEGIN_MS + number * _BATCH_MS


def _rows(number: int, rows: int) -> pa.Table:
    """A batch of partial sessions, each of a user of its own, with an event or two."""
    chance = np.random.default_rng(number)
    users = number * 3 * rows // _STAY_BATCHES + chance.choice(3 * rows, rows, replace=False)
    first = _time(number) - chance.integers(0, _BOUND_MS, rows)
    # Late enough that the session it meets may have been closed.
    first[: rows // _LATE_ONE_IN] -= _LATE_MS
    told = {
        c.PANE_START: first // _GAP_MS * _GAP_MS,
        c.FIRST_TIME: first,
        c.LAST_TIME: first + chance.integers(0, _BATCH_MS, rows),
        c.PAGE_VIEWS: chance.integers(1, 3, rows),
        c.USER_ID: [f"user-{user}" for user in users],
    }
    same = {c.BATCH: EPOCH + number, c.WATERMARK: _watermark(number - 1), c.CLICKS: 0, c.LATE_EVENTS: 0}
    same |= {c.CLOSED_UNTIL: closed_until(REPORT, _watermark(number - 1))}
    fixed = {name: pa.repeat(pa.scalar(value), rows) for name, value in {**same, c.REPORT: REPORT.name}.items()}
    empty = {name: pa.nulls(rows) for name in PANES.schema.names}
    return pa.table({**empty, **fixed, **{name: pa.array(values) for name, values in told.items()}})


def _published(warehouse: str, due: Due, number: int) -> dict[str, float]:
    publication = Publication(warehouse, [kind_of(REPORT)])
    began = time.perf_counter()
    publication.publish({REPORT.name: due}, EPOCH + number)
    seconds = time.perf_counter() - began
    panes, shown = (DeltaTable(spec.uri(warehouse)).to_pyarrow_table().num_rows for spec in (PANES, result_of(REPORT)))
    return {"seconds": seconds, "rows": panes, "sessions": shown}


def render(found: dict[int, dict[str, float]]) -> Table:
    """One row each, and how many times the first the last one took."""
    few, *_, many = found.values()
    ratio = many["seconds"] / few["seconds"]
    table = Table(title=f"Publishing sessions: {ratio:.1f} times as long at the end", title_justify="left")
    for name in ("batches since compaction", "seconds", "rows of panes", "sessions shown"):
        table.add_column(name, justify="right")
    for number, row in found.items():
        table.add_row(f"{number:,}", f"{row['seconds']:.3f}", f"{row['rows']:,.0f}", f"{row['sessions']:,.0f}")
    return table
