"""Jobs that are too large for one process: Spark's executors run the same SQL, and the driver commits their files.

Executors read and write the Parquet files that they are given; only delta-rs reads and writes Delta logs. So their
files are committed like all others, with a token and at the next version, and a fenced table refuses them.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import pyarrow as pa
import structlog
from deltalake import DeltaTable, Transaction
from deltalake.transaction import AddAction, RemoveAction

from tidemark.pipeline.runtime.jobs import JobRunner, LargeJob
from tidemark.pipeline.tables.files import Bounds, Files, added, discard, files_of, folder_of
from tidemark.pipeline.tables.handle import Handle

FOLDER: Final = "spark"
"""The folder of a table into which executors write; a file stays in its folder."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class FilesView:
    """A table as a statement sees it: the rows of some of its files, with the columns of `schema`."""

    files: Files
    schema: pa.Schema
    same: Mapping[str, str] = field(default_factory=dict)
    """Values of columns that the files lack, because all their rows have the same value."""


class Executors(Protocol):
    """Many processes that read and write files."""

    def write(self, sql: str, views: Mapping[str, FilesView], schema: pa.Schema, to: str) -> None:
        """Writes the rows of `sql` over `views` as Parquet files with columns `schema` into the new folder `to`."""

    def write_rows(self, rows: Any, schema: pa.Schema, to: str) -> None:
        """Writes the rows of a Spark frame like `write`; columns that the frame lacks are null."""


@dataclass(frozen=True, slots=True)
class LargeJobs:
    """The executors, if any, and the number of rows from which a job is for them."""

    executors: Executors | None = None
    from_rows: int = 0
    report: Callable[[LargeJob, JobRunner], None] = lambda *_: None
    """Called for each job with who does it."""

    def is_large(self, rows: int) -> bool:
        """Whether a job on this many rows is for executors."""
        return self.executors is not None and rows >= self.from_rows

    def takes(self, job: LargeJob, name: str, rows: int) -> bool:
        """Reports who does a job on this many rows of the table `name`; returns whether executors do."""
        is_large = self.is_large(rows)
        self.report(job, JobRunner.EXECUTORS if is_large else JobRunner.DRIVER)
        if is_large:
            _log.info("large_job_on_executors", job=job.value, table=name, rows=rows)
        return is_large


NOTHING: Final = LargeJobs()
"""The driver does all jobs."""


@dataclass(frozen=True, slots=True)
class ExecutorWrite:
    """Rows of a table that executors will compute and write."""

    executors: Executors
    sql: str
    views: Mapping[str, FilesView]
    schema: pa.Schema
    replaced: Bounds
    """Bounds, by columns that are never null, of the rows that it can replace."""

    def swap(
        self, handle: Handle, where: str | None = None, *, by: int | None, transactions: Sequence[Transaction] = ()
    ) -> bool:
        """Like `Handle.swap` with these rows; rewrites the files that may have replaced rows, with their other rows."""
        table = handle.table
        rewritten = files_of(table, self.replaced) if where is not None else None
        sql, views = self.sql, self.views
        if rewritten is not None and rewritten.paths:
            names = ", ".join(self.schema.names)
            sql = f"SELECT {names} FROM ({sql}) UNION ALL SELECT {names} FROM before WHERE NOT ({where})"  # noqa: S608 - our own
            views = {**views, "before": FilesView(rewritten, self.schema)}
        folder = new_folder()
        self.executors.write(sql, views, self.schema, folder_path(table, folder))
        new = added(table, folder, {})
        actions: list[AddAction | RemoveAction] = [*new, *(rewritten.remove_actions() if rewritten else [])]
        if not actions:
            return handle.swap(self.schema.empty_table(), by=by, transactions=transactions)
        is_committed = handle.commit(actions, by=by, transactions=transactions)
        if not is_committed:
            discard(table, new)
        return is_committed


def new_folder() -> str:
    """Returns the relative path of a folder that no other writer uses."""
    return f"{FOLDER}/{uuid.uuid4().hex}"


def folder_path(table: DeltaTable, folder: str) -> str:
    """Returns the path of a table's folder in Hadoop's notation."""
    return f"{folder_of(table)}/{folder}"
