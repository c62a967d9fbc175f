"""The interfaces by which readers of panes, and kinds of windows, are published, compacted and viewed live."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import ClassVar, Generic, NamedTuple, TypeVar

import pyarrow as pa
from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.firing import Firing
from tidemark.pipeline.event_time.lateness import Sql
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.base import Window, Windows
from tidemark.pipeline.results.applied import AppliedCorrections
from tidemark.pipeline.results.levels import Run, worth_merging, worth_rewriting
from tidemark.pipeline.results.measure_sql import measure_columns, measures_sql
from tidemark.pipeline.results.result_table import PublicationPlan, panes_sql, statement_count
from tidemark.pipeline.results.spill import Spill, concatenated
from tidemark.pipeline.runtime.jobs import JobRunner, LargeJob
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.files import Bounds, Files, files_of
from tidemark.pipeline.tables.large import NOTHING, ExecutorWrite, FilesView, LargeJobs
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import PANES, TableSpec, result_of
from tidemark.pipeline.tuning import STANDARD, Tuning


class Merge(NamedTuple):
    """Runs of `panes`, and the rows that replace them; None to remove them."""

    runs: Sequence[Run]
    rows: Spill | pa.Table | None


class SourceTables(NamedTuple):
    """The sources of a publication: `results` is the table itself, `applied` are the corrections in its rows."""

    panes: DeltaTable
    results: DeltaTable
    applied: AppliedCorrections


FiringT_contra = TypeVar("FiringT_contra", bound=Firing, contravariant=True)


class ResultKind(ABC, Generic[FiringT_contra]):
    """A reader of panes: how its result is made from panes, and how its panes are compacted."""

    def __init__(self, spec: TableSpec, tuning: Tuning) -> None:
        self.name = spec.name
        self.spec = spec
        self._tuning = tuning

    @abstractmethod
    def plan(self, firing: FiringT_contra, batch: int, tables: SourceTables) -> PublicationPlan:
        """Plans the publication of what is due, from the panes up to `batch`, which is committed.

        `tables.results` advances by the commits of the plan's chunks and by no others.
        """

    @abstractmethod
    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:
        """Yields the merges of `runs`, which are oldest first.

        Windows that end at or before `final` (ms) are published for the last time; events before `cutoff` (ms) are too
        late everywhere.
        """

    def rewrites(
        self, runs: Sequence[Run], panes: DeltaTable, consumer: Consumer, rewritten: Callable[[str], pa.Table]
    ) -> Iterator[Merge]:
        """Yields merges for results that compact all rows of a key at once: rarely all runs, else small runs unchanged.

        `rewritten` makes the compacted rows from SQL that returns all rows of some keys.
        """
        many = self._tuning.merged_runs
        if worth_rewriting(runs, many):
            ranges = self.key_ranges_sql(consumer.keys, sum(run.rows for run in runs))
            parts = [panes_sql(consumer, runs[-1].last, key_range) for key_range in ranges]
            yield Merge(runs, concatenated(parts, rewritten, PANES.schema))
        elif newest := worth_merging(runs[1:], many):
            sql = panes_sql(consumer, newest[-1].last, f"batch >= {newest[0].first}")
            yield Merge(newest, as_panes(query(sql, panes=panes)))

    def key_ranges_sql(self, keys: Sequence[str], rows: int) -> list[str]:
        """Returns SQL conditions that split the keys of `rows` rows of panes; each key fulfils exactly one."""
        count = statement_count(rows, self._tuning.statement_rows) if keys else 1
        hashed = f"sha256({keys_text_sql(keys)})"  # twice as fast as md5
        firsts = [f"X'{256 * index // count:02x}'" for index in range(1, count)]
        above = ["true", *(f"{hashed} >= {first}" for first in firsts)]
        below = [*(f"{hashed} < {first}" for first in firsts), "true"]
        return [f"{low} AND {high}" for low, high in zip(above, below, strict=True)]


class WindowKind(ResultKind[FiringT_contra]):
    """The result kind of one kind of windows."""

    grows: ClassVar[bool] = False
    """Whether a window may be longer than an event's own window, and a correction may join several windows."""

    def __init__(self, report: Report, large: LargeJobs = NOTHING, tuning: Tuning = STANDARD) -> None:
        super().__init__(result_of(report), tuning)
        self.report = report
        self._windows: Windows = report.windows
        self._large = large

    @property
    def is_open_sql(self) -> str:
        """SQL condition: a window of `open_windows_sql` is open. The column `reached` is the watermark."""
        return str(~lateness.has_fired(Sql("end_ms"), Sql("reached")))

    @abstractmethod
    def open_windows_sql(self) -> str:
        """Returns SQL to follow `WITH parts AS (…),` in any engine: `windowed`, the parts with `start_ms` and `end_ms`.

        A part that belongs to several windows has a row for each of them.
        """

    def is_closed_sql(self, closed_until: str) -> str:
        """Returns an SQL condition: a published window is closed. `closed_until` is SQL of a timestamp."""
        return str(lateness.is_closed(Sql("window_end"), Sql(closed_until)))

    @abstractmethod
    def touched_sql(self, windows: Sequence[Window]) -> str:
        """Returns an SQL condition: corrections change the row. `windows` are the own windows of their events."""

    def result_rows(self, windows: pa.Table) -> pa.Table:
        """Returns rows of the table from rows in which the parts of windows are joined."""
        measures, names = measure_columns(windows, self.report), self.spec.schema.names
        return pa.table({name: measures[name] if name in measures else windows[name] for name in names})

    def by_executors(
        self, files: Files, windows: Callable[[Engine], str], replaced: Bounds = MappingProxyType({})
    ) -> ExecutorWrite | None:
        """Returns rows of the table that executors will make; None if `files` are small enough for the driver.

        `windows` returns the SQL over the panes in `files`, `replaced` are the bounds of the rows that may be replaced.
        """
        executors = self._large.executors
        # Executors lack the library that makes the sketches of panes.
        if executors is None or any(measure.part.join.is_sketch for measure in self.report.chosen_measures):
            self._large.report(LargeJob.PUBLICATION, JobRunner.DRIVER)
            return None
        if not self._large.takes(LargeJob.PUBLICATION, self.name, files.rows):
            return None
        views = {PANES.name: FilesView(files, PANES.schema, {c.REPORT: self.name})}
        return ExecutorWrite(
            executors, self.result_sql(windows(Engine.SPARK), Engine.SPARK), views, self.spec.schema, replaced
        )

    def by_driver(self, files: Files, batch: int, rows_from: Callable[[str], pa.Table]) -> Spill | pa.Table:
        """Returns the rows of one commit: `rows_from` computes them from SQL of the panes up to `batch` in `files`.

        If there are many panes, it is called for one range of keys after the other.
        """
        parts = [panes_sql(self.report, batch, keys) for keys in self.key_ranges_sql(self.report.keys, files.rows)]
        return concatenated(parts, rows_from, self.spec.schema)

    def files(self, panes: DeltaTable, batch: int, bounds: Bounds = MappingProxyType({})) -> Files:
        """Returns the files of `panes` that may have rows of the report up to `batch` and within `bounds`."""
        return files_of(panes, {c.BATCH: (0, batch), **bounds}, report=self.name)

    def result_sql(self, windows: str, engine: Engine) -> str:
        """Returns SQL that does what `result_rows` does, over the SQL `windows`."""
        measures, names = measures_sql(self.report, engine), self.spec.schema.names
        columns = ", ".join(f"{measures.get(name, name)} AS {name}" for name in names)
        return f"SELECT {columns} FROM ({windows}) AS windows"  # noqa: S608 - our own names


def as_panes(rows: pa.Table) -> pa.Table:
    """Returns rows with the columns of `panes`; missing columns are null."""
    nulls = dict.fromkeys(PANES.schema.names, pa.nulls(len(rows)))
    columns = {name: rows[name] for name in rows.column_names if name in nulls}
    return pa.table({**nulls, **columns}).cast(PANES.schema)


def keys_sql(report: Report) -> str:
    """Returns SQL of the report's keys; a comma follows each."""
    return "".join(f"{key}, " for key in report.keys)


def keys_text_sql(keys: Sequence[str]) -> str:
    """Returns SQL of one text for the keys of a row, in any engine; null counts as empty. There is at least one key."""
    texts = (f"coalesce(CAST({key} AS STRING), '')" for key in keys)
    return f"concat({', '.join(texts)})"


def partition_by_sql(*columns: str) -> str:
    """Returns the clause of a window function; empty without columns."""
    return f"PARTITION BY {', '.join(columns)}" if columns else ""
