"""Corrections: too-late events that were added to closed windows afterwards, each once.

The table is a log like the ledger: what stands in it is decided, by a compare-and-swap. A report's table carries the
number of the last correction that was added to it, in the same commit as its rows; so whoever comes after a process
that died adds what is missing, and nothing twice.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder, Transaction, write_deltalake

from pipeline.errors import TransientError
from pipeline.frames import columns as c
from pipeline.sketches import estimate, merged, sketch_of
from pipeline.tables.results import moment, utc
from pipeline.tables.schemas import CORRECTIONS, open_table, result_of
from pipeline.tables.swap import attempt, swap
from pipeline.time import lateness
from pipeline.time.lateness import Sql
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions
from pipeline.time.totals import Totals

APP: Final = "tidemark-corrections"
_ATTEMPTS: Final = 10
_SUMS: Final = (c.PAGE_VIEWS, c.CLICKS, c.LATE_EVENTS)
Row = dict[str, Any]


class Corrections:
    """The log of corrections of a warehouse."""

    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse
        self._table = open_table(CORRECTIONS, warehouse)

    def known(self) -> set[tuple[str, str, int, int]]:
        """Report and place (topic, partition, offset) of every event that was corrected."""
        self._table.update_incremental()
        rows = self._ask('SELECT DISTINCT report, topic, partition, "offset" FROM corrections')
        return {(row[c.REPORT], row[c.TOPIC], row[c.PARTITION], row[c.OFFSET]) for row in rows}

    def decide(self, rows: Sequence[Row]) -> bool:
        """Writes the next correction; False if another came first: then what is `known` has changed."""
        number = (self._ask("SELECT max(correction) AS last FROM corrections")[0]["last"] or 0) + 1
        fixed = {"correction": number, "corrected_at": time.time_ns() // 1_000_000}
        return swap(self._table, pa.Table.from_pylist([{**row, **fixed} for row in rows], schema=CORRECTIONS.schema))

    def apply(self, report: Report) -> None:
        """Adds to a report's table every correction that it does not have yet; totals the service alone writes."""
        if isinstance(report.windows, Totals):
            return
        self._table.update_incremental()
        table = DeltaTable(result_of(report).uri(self._warehouse))
        for _ in range(_ATTEMPTS):
            last = table.transaction_version(APP) or 0
            rows = self._ask(
                f"SELECT * FROM corrections WHERE report = '{report.name}' AND correction > {last}"  # noqa: S608 - ours
            )
            if not rows or _apply(table, report, rows):
                return
        raise TransientError(
            f"the service writes {report.name} without a pause: the corrections are decided, and the next run adds them"
        )

    def _ask(self, sql: str) -> list[Row]:
        rows: list[Row] = pa.table(QueryBuilder().register("corrections", self._table).execute(sql)).to_pylist()
        return rows


def _apply(table: DeltaTable, report: Report, rows: Sequence[Row]) -> bool:
    """Replaces the windows that the corrections change; False if somebody else wrote them meanwhile."""
    closed_until = Sql(f"'{utc(max(row[c.CLOSED_UNTIL] for row in rows))}'")
    closed = f"({_changed(rows, report)}) AND {lateness.is_closed(Sql(c.WINDOW_END), closed_until)}"
    schema = result_of(report).schema
    query = QueryBuilder().register("it", table).execute(f"SELECT * FROM it WHERE {closed}")  # noqa: S608 - ours
    shown = pa.table(query).select(schema.names).cast(schema).to_pylist()
    add = _into_sessions if isinstance(report.windows, Sessions) else _into_windows
    data = pa.Table.from_pylist(add(shown, rows, report), schema=schema)

    def write(properties: CommitProperties) -> None:
        write_deltalake(table, data, mode="overwrite", predicate=closed, commit_properties=properties)

    # What the service publishes meanwhile are other windows.
    done = Transaction(APP, max(row["correction"] for row in rows))
    return attempt(table, write, [done], retries=_ATTEMPTS)


def _changed(rows: Iterable[Row], report: Report) -> str:
    """Which windows of a table get something, as SQL; of sessions all that meet the events' own parts."""
    spans = sorted({(row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]) for row in rows})
    if not isinstance(report.windows, Sessions):
        return f"{c.WINDOW_END} IN ({', '.join(repr(utc(end)) for end in sorted({end for _, end in spans}))})"
    apart = list[tuple[int, int]]()
    for start, end in spans:
        if apart and start <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return " OR ".join(f"({c.WINDOW_END} >= '{utc(a)}' AND {c.WINDOW_START} <= '{utc(b)}')" for a, b in apart)


def _into_windows(shown: Iterable[Row], rows: Iterable[Row], report: Report) -> list[Row]:
    names = (c.WINDOW_START, c.WINDOW_END, *report.keys)
    cells = {tuple(row[name] for name in names): row for row in shown}
    for row in rows:
        new = _nothing(row, report)
        key = tuple(new[name] for name in names)
        cells[key] = _added(cells.get(key, new), row)
    return list(cells.values())


def _into_sessions(shown: Iterable[Row], rows: Iterable[Row], report: Report) -> list[Row]:
    """An event joins the closed sessions that its own `[time, time + gap)` meets, and joins them to one."""
    of_key = defaultdict[tuple[Any, ...], list[Row]](list)
    for row in shown:
        of_key[tuple(row[key] for key in report.keys)].append(row)
    for row in rows:
        new = _nothing(row, report)
        sessions = of_key[tuple(row[key] for key in report.keys)]
        start, end = new[c.WINDOW_START], new[c.WINDOW_END]
        for one in [one for one in sessions if one[c.WINDOW_START] <= end and start <= one[c.WINDOW_END]]:
            sessions.remove(one)
            new = _added({**new, c.PUBLISHED_BATCH: max(new[c.PUBLISHED_BATCH], one[c.PUBLISHED_BATCH])}, one)
            new[c.WINDOW_START] = min(new[c.WINDOW_START], one[c.WINDOW_START])
            new[c.WINDOW_END] = max(new[c.WINDOW_END], one[c.WINDOW_END])
        sessions.append(_added(new, row))
    return [row for sessions in of_key.values() for row in sessions]


def _nothing(row: Row, report: Report) -> Row:
    """The cell of a report's table to which a correction belongs, before it is added."""
    window = {c.WINDOW_START: moment(row[c.WINDOW_START_MS]), c.WINDOW_END: moment(row[c.WINDOW_END_MS])}
    counts = dict.fromkeys((*report.measures, c.LATE_EVENTS, c.PUBLISHED_BATCH), 0)
    nothing: Row = {**window, **{key: row[key] for key in report.keys}, **counts}
    if c.UNIQUE_USERS in report.measures:
        nothing[c.USERS_SKETCH] = sketch_of([])
    return nothing


def _added(cell: Row, row: Row) -> Row:
    """What a report does not tell is not in the cell. Of which session an event was is not known any more."""
    added: Row = {**cell, **{name: cell[name] + row[name] for name in _SUMS if name in cell}}
    if c.USERS_SKETCH in cell:
        added[c.USERS_SKETCH] = merged([cell[c.USERS_SKETCH], sketch_of([row[c.USER_ID]])])
        added[c.UNIQUE_USERS] = estimate(added[c.USERS_SKETCH])
    return added
