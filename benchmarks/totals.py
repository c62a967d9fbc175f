"""Measures a publication of `user_totals`, by the number of all users and of users since the last publication."""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.report import figures_table
from benchmarks.rows import rows_of
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.firing import TotalsDue
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.results.kind_registry import kinds_of
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.schemas import PANES, USER_TOTALS
from tidemark.pipeline.tables.traffic import traffic

Users = NDArray[np.int64]
Figures = dict[str, dict[str, Any]]

_GAP_MS: Final = 1_800_000
_MONTH_MS: Final = 30 * 86_400_000
_DUE: Final = {USER_TOTALS.name: TotalsDue(is_due=True)}
_TIMES: Final = 3
"""Number of publications; their median counts."""
_MULTIPLIER: Final = 2_654_435_761
"""Knuth's multiplicative hash: makes names whose order is unrelated to the order of users."""


def publications(ever: Sequence[int], came: Sequence[int], work: Path) -> Figures:
    """Measures each number of all users with each number of active users, equally active and by Zipf's law."""
    found: Figures = {}
    for users in ever:
        for some in came:
            for how in ("evenly", "by Zipf"):
                name = f"{users:,} users, {some:,} came {how}"
                found[name] = _measured(users, some, how == "evenly", work / f"totals-{users}-{some}-{how[:2]}")
    return found


def publications_table(found: Figures) -> Table:
    """Returns a table with a row for each; amplification is bytes written over bytes of the changed rows."""
    heads = ["user_totals", "files", "MB", "MB written", "amplification", "seconds", "CPU s"]
    rows = [
        [
            name,
            f"{row['files']}",
            f"{row['bytes'] / 1e6:.1f}",
            f"{row['written'] / 1e6:.1f}",
            f"{row['amplification']:.1f}",
            f"{row['seconds']:.2f}",
            f"{row['cpu_seconds']:.2f}",
        ]
        for name, row in found.items()
    ]
    return figures_table(f"A publication of totals, the median of {_TIMES}", heads, rows, words=1)


def _measured(users: int, came: int, evenly: bool, work: Path) -> dict[str, Any]:  # noqa: FBT001 - one of two distributions
    warehouse, chance = str(work), np.random.default_rng(7)
    policy = Policy(Bounded(0), 1, 0, (), totals=UserTotals(_GAP_MS, 60_000))
    create_tables(warehouse, policy)
    panes, publication = Appender(PANES, warehouse), Publication(warehouse, kinds_of(warehouse, policy))
    panes.append(_panes(np.arange(users), EPOCH, chance), EPOCH)
    publication.publish(_DUE, EPOCH)
    before, took = DeltaTable(USER_TOTALS.uri(warehouse)).version(), list[tuple[float, float]]()
    for batch in range(EPOCH + 1, EPOCH + 1 + _TIMES):
        panes.append(_panes(_active_users(users, came, chance, evenly=evenly), batch, chance), batch)
        began, cpu = time.perf_counter(), time.process_time()
        publication.publish(_DUE, batch)
        took.append((time.perf_counter() - began, time.process_time() - cpu))
    table = DeltaTable(USER_TOTALS.uri(warehouse))
    files = pa.table(table.get_add_actions())
    size = pc.sum(files["size_bytes"]).as_py()
    written = traffic(table, USER_TOTALS.name, before).written.total() / _TIMES
    return {
        "files": len(files),
        "bytes": size,
        "written": written,
        "amplification": written / (size / users * came),
        "seconds": median(seconds for seconds, _ in took),
        "cpu_seconds": median(cpu for _, cpu in took),
    }


def _active_users(users: int, came: int, chance: np.random.Generator, *, evenly: bool) -> Users:
    """Returns `came` different users; unless `evenly`, the n-th user is n times less likely than the first."""
    if evenly:
        return chance.choice(users, came, replace=False)
    active = np.array([], dtype=np.int64)
    while len(active) < came:
        ranks = np.exp(chance.random(came) * np.log(users)).astype(np.int64) - 1
        active = np.unique(np.concatenate([active, ranks]))
    return chance.permutation(active)[:came]


def _panes(users: Users, batch: int, chance: np.random.Generator) -> pa.Table:
    """Returns a session of each user; the sessions of the first batch are spread over a month."""
    begin = 0 if batch == EPOCH else _MONTH_MS + (batch - EPOCH) * _GAP_MS
    times = begin + chance.integers(0, _GAP_MS if begin else _MONTH_MS, len(users))
    names = pa.array(np.char.mod("user-%012x", (users * _MULTIPLIER) % (1 << 44)).tolist())
    counts = {c.PAGE_VIEWS: 3, c.CLICKS: 1, c.FIRST_TIME: pa.array(times), c.LAST_TIME: pa.array(times)}
    where = {c.REPORT: USER_TOTALS.name, c.PANE_START: pa.array(times // _GAP_MS * _GAP_MS), c.BATCH: batch}
    return rows_of(PANES.schema, len(users), {**where, **counts, c.USER_ID: names})
