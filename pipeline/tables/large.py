"""What is too large for one process: Spark's executors do it by the same SQL, and the driver commits what they wrote.

They are told which files to read and where to write, and know nothing of Delta: delta-rs alone reads and writes logs.
So what they wrote is committed as all else is, with a token and at the next version, and a fenced table refuses it.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import pyarrow as pa
import structlog
from deltalake import DeltaTable, Transaction
from deltalake.transaction import AddAction, RemoveAction

from pipeline.runtime.jobs import By, Job
from pipeline.tables.files import Bounds, Files, added, discard, files_of, folder_of
from pipeline.tables.handle import Handle

FOLDER: Final = "spark"
"""Below a table, for what executors write; a file stays where it was written."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class FilesView:
    """A table as a statement sees it: the rows of some of its files, and columns that are the same in all of them."""

    files: Files
    schema: pa.Schema
    same: Mapping[str, str] = field(default_factory=dict)


class Executors(Protocol):
    """Many processes that read and write files."""

    def write(self, sql: str, views: Mapping[str, FilesView], schema: pa.Schema, to: str) -> None:
        """Writes the rows of a statement as Parquet files with these columns into a folder, which it makes."""

    def write_rows(self, rows: Any, schema: pa.Schema, to: str) -> None:
        """The same of rows that they have; of columns that these lack there is nothing."""


@dataclass(frozen=True, slots=True)
class Large:
    """From how many rows on a job is for executors, where there are any."""

    executors: Executors | None = None
    from_rows: int = 0
    report: Callable[[Job, By], None] = lambda *_: None
    """Is told of each job who does it."""

    def is_large(self, rows: int) -> bool:
        """Whether so many rows are for executors."""
        return self.executors is not None and rows >= self.from_rows

    def takes(self, job: Job, name: str, rows: int) -> bool:
        """Whether a job on so many rows is large; that is told."""
        large = self.is_large(rows)
        self.report(job, By.EXECUTORS if large else By.DRIVER)
        if large:
            _log.info("a large job goes to the executors", job=job.value, table=name, rows=rows)
        return large


NOTHING: Final = Large()
"""All is small."""


@dataclass(frozen=True, slots=True)
class ExecutorWrite:
    """Rows of a table that executors make and write."""

    executors: Executors
    sql: str
    views: Mapping[str, FilesView]
    schema: pa.Schema
    replaced: Bounds
    """Of columns that are never null: the bounds of all rows that it can replace."""

    def swap(
        self, handle: Handle, where: str | None = None, *, by: int | None, transactions: Sequence[Transaction] = ()
    ) -> bool:
        """Like `Handle.swap` with these rows. Rows of the files concerned that are not replaced are written again."""
        table = handle.table
        stays = files_of(table, self.replaced) if where is not None else None
        sql, views = self.sql, self.views
        if stays is not None and stays.paths:
            names = ", ".join(self.schema.names)
            sql = f"SELECT {names} FROM ({sql}) UNION ALL SELECT {names} FROM before WHERE NOT ({where})"  # noqa: S608 - our own
            views = {**views, "before": FilesView(stays, self.schema)}
        folder = new_folder()
        self.executors.write(sql, views, self.schema, folder_path(table, folder))
        new = added(table, folder, {})
        actions: list[AddAction | RemoveAction] = [*new, *(stays.removed() if stays else [])]
        if not actions:
            return handle.swap(self.schema.empty_table(), by=by, transactions=transactions)
        landed = handle.commit(actions, by=by, transactions=transactions)
        if not landed:
            discard(table, new)
        return landed


def new_folder() -> str:
    """Returns a folder below a table that no other writer writes into."""
    return f"{FOLDER}/{uuid.uuid4().hex}"


def folder_path(table: DeltaTable, folder: str) -> str:
    """Returns the path of a folder below a table, as Hadoop writes it."""
    return f"{folder_of(table)}/{folder}"
