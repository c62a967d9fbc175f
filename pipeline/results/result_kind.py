"""The questions that the tables ask of a consumer of panes, and of a kind of windows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import ClassVar

import pyarrow as pa
from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time import lateness
from pipeline.event_time.firing import Firing
from pipeline.event_time.lateness import Sql
from pipeline.event_time.reports import Report
from pipeline.measures import Join
from pipeline.results.applied import Applied
from pipeline.results.levels import Run, worth_merging, worth_rewriting
from pipeline.results.measure_sql import shown, shown_in_sql
from pipeline.results.result_table import Plan, committed, statements_for
from pipeline.results.spill import Spill, in_parts
from pipeline.runtime.jobs import By, Job
from pipeline.tables.engines import Engine
from pipeline.tables.files import Bounds, Files, files_of
from pipeline.tables.large import NOTHING, ExecutorWrite, FilesView, Large
from pipeline.tables.query import query
from pipeline.tables.schemas import PANES, TableSpec, result_of

Merge = tuple[Sequence[Run], Spill | pa.Table | None]
"""Runs of `panes`, and the rows that take their place, or None."""


class ResultKind(ABC):
    """A consumer of panes: what its panes add up to, and what compaction keeps of them."""

    def __init__(self, spec: TableSpec) -> None:
        self.name = spec.name
        self.spec = spec

    @abstractmethod
    def plan(self, firing: Firing, batch: int, panes: DeltaTable, results: DeltaTable, applied: Applied) -> Plan:
        """Plans the publication of what is due.

        Panes up to `batch`, which is committed, count. `results` is the table of the result: it moves on by the commits
        of the plan's portions and by no others. `applied` are the corrections that it has.
        """

    @abstractmethod
    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:
        """The merges that compaction makes of the runs, oldest first.

        What ends no later than `final` is published for the last time; events before `cutoff` are too late everywhere.
        """


class WindowKind(ResultKind):
    """A kind of windows."""

    grows: ClassVar[bool] = False
    """Whether a window may be longer than an event alone tells, and a correction join several to one."""

    def __init__(self, report: Report, large: Large = NOTHING) -> None:
        super().__init__(result_of(report))
        self.report = report
        self._windows = report.windows
        self._large = large

    @property
    def is_open(self) -> str:
        """The condition for one of `open_windows` to be open, in SQL where `reached` is the watermark."""
        return str(~lateness.has_fired(Sql("end_ms"), Sql("reached")))

    @abstractmethod
    def open_windows(self) -> str:
        """SQL of any engine after `WITH parts AS (…),`: `windowed`, the parts with `start_ms` and `end_ms`.

        A part that belongs to several windows is there once for each.
        """

    def is_closed(self, closed_until: str) -> str:
        """The condition for a published window to take no event any more, in SQL; `closed_until` is a timestamp."""
        return str(lateness.is_closed(Sql("window_end"), Sql(closed_until)))

    @abstractmethod
    def touched(self, spans: Sequence[tuple[int, int]]) -> str:
        """Which rows of the table corrections change, in SQL; `spans` are the events' own windows."""

    def told(self, windows: pa.Table) -> pa.Table:
        """Rows of the table, from rows in which the parts of windows have joined."""
        measures, names = shown(windows, self.report), self.spec.schema.names
        return pa.table({name: measures[name] if name in measures else windows[name] for name in names})

    def by_executors(
        self, files: Files, windows: Callable[[Engine], str], replaced: Bounds = MappingProxyType({})
    ) -> ExecutorWrite | None:
        """Rows of the table, still to be made by executors; None where what is read for them is small.

        `windows` is a statement over the panes in some files, `replaced` the bounds of what the rows can replace in the
        table.
        """
        executors = self._large.executors
        # Only the driver's library makes the sketch that panes have.
        if executors is None or any(one.part.join is Join.SKETCH for one in self.report.tells):
            self._large.report(Job.PUBLICATION, By.DRIVER)
            return None
        if not self._large.takes(Job.PUBLICATION, self.name, files.rows):
            return None
        views = {PANES.name: FilesView(files, PANES.schema, {c.REPORT: self.name})}
        return ExecutorWrite(
            executors, self.told_in_sql(windows(Engine.SPARK), Engine.SPARK), views, self.spec.schema, replaced
        )

    def by_driver(self, files: Files, batch: int, made: Callable[[str], pa.Table]) -> Spill | pa.Table:
        """Rows of the table, which `made` makes of a statement's rows of panes; of many a part of the keys at a time.

        They are one commit all the same. `files` have the panes up to the batch.
        """
        parts = [committed(self.name, batch, some) for some in by_keys(self.report.keys, files.rows)]
        return in_parts(parts, made, self.spec.schema)

    def files(self, panes: DeltaTable, batch: int, among: Bounds = MappingProxyType({})) -> Files:
        """Those of `panes` that may have rows of the report up to a batch, within bounds."""
        return files_of(panes, {c.BATCH: (0, batch), **among}, report=self.name)

    def told_in_sql(self, windows: str, engine: Engine) -> str:
        """What `told` tells, as a statement over another one."""
        measures, names = shown_in_sql(self.report, engine), self.spec.schema.names
        told = ", ".join(f"{measures.get(name, name)} AS {name}" for name in names)
        return f"SELECT {told} FROM ({windows}) AS windows"  # noqa: S608 - our own names


def rewrites(
    name: str, runs: Sequence[Run], panes: DeltaTable, keys: Sequence[str], kept: Callable[[str], pa.Table]
) -> Iterator[Merge]:
    """Merges where only all rows of a key tell which are kept: rarely all of them, in between small runs as they are.

    `kept` makes the rows that are kept of those that a statement gives, which are all of some keys.
    """
    if worth_rewriting(runs):
        parts = [committed(name, runs[-1].last, some) for some in by_keys(keys, sum(run.rows for run in runs))]
        yield runs, in_parts(parts, kept, PANES.schema)
    elif some := worth_merging(runs[1:]):
        yield some, as_panes(query(committed(name, some[-1].last, f"batch >= {some[0].first}"), panes=panes))


def by_keys(keys: Sequence[str], rows: int) -> list[str]:
    """Conditions, of which one holds for each key, so that each has its part of so many rows of panes."""
    number = statements_for(rows) if keys else 1
    hashed = f"sha256(concat({', '.join(keys)}))"  # to which null is no text; it is twice as fast as md5
    firsts = [f"X'{256 * place // number:02x}'" for place in range(1, number)]
    above = ["true", *(f"{hashed} >= {first}" for first in firsts)]
    below = [*(f"{hashed} < {first}" for first in firsts), "true"]
    return [f"{low} AND {high}" for low, high in zip(above, below, strict=True)]


def as_panes(rows: pa.Table) -> pa.Table:
    """Rows with the columns of `panes`, with nothing in those that are not told."""
    nothing = dict.fromkeys(PANES.schema.names, pa.nulls(len(rows)))
    told = {name: rows[name] for name in rows.column_names if name in nothing}
    return pa.table({**nothing, **told}).cast(PANES.schema)


def keys_of(report: Report) -> str:
    """The report's keys in front of further columns, as SQL."""
    return "".join(f"{key}, " for key in report.keys)


def partition_by(*columns: str) -> str:
    """A window function's clause, none where there is nothing to partition by."""
    return f"PARTITION BY {', '.join(columns)}" if columns else ""
