"""A result table: one writer, whose commits are refused once a newer service has published."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeAlias

import pyarrow as pa
from deltalake import DeltaTable, Transaction

from pipeline.errors import TransientError
from pipeline.event_time import rules
from pipeline.event_time.batch import EPOCH
from pipeline.event_time.firing import Published
from pipeline.tables.large import Written
from pipeline.tables.results.spill import Spill
from pipeline.tables.schemas import CLOSED_APP, ERASED_APP, FENCED_APP, WRITER_APP, TableSpec
from pipeline.tables.swap import swap
from pipeline.tables.write import fence, newest_epoch, refuse_if_fenced

MANY_ROWS: Final = 1_000_000
"""Of which a commit is made before more are."""
_MANY_STATEMENTS: Final = 16
Rows: TypeAlias = "Spill | Written | pa.Table"
"""Rows of a table: here, on the disk, or still to be made and written by executors."""
Portion = tuple[Rows, str | None]
"""Rows of a result, and which rows of the table they replace; None for none."""


class PersonErased(TransientError):
    """A person was erased since the rows were made: they may have it, and must be made anew."""


class Results:
    """One writer's view of a result table; its handle moves only with its own commits until it is refused."""

    def __init__(self, warehouse: str, spec: TableSpec) -> None:
        self._schema = spec.schema
        self._table = DeltaTable(spec.uri(warehouse))

    @property
    def published(self) -> Published:
        """How far this writer has published."""
        batch, closed_until = map(self._table.transaction_version, (WRITER_APP, CLOSED_APP))
        return Published(batch or 0, rules.as_number(closed_until))

    def fence(self, batch: int) -> None:
        """Where a batch is the first of its epoch: what older processes still write does not land. Raises Replaced.

        So what a publication reads of the table stands until it is published, in however many commits.
        """
        if newest_epoch(self._table) < batch // EPOCH:
            fence(self._table, self._schema, batch, FENCED_APP)

    def put(self, rows: Rows, where: str | None, batch: int, transactions: Sequence[Transaction] = ()) -> None:
        """Adds the rows, in the place of those for which `where` holds. Raises Replaced if a newer service published.

        What is more than one commit holds is put first; `finish` says that all of it is there. Raises PersonErased.
        """
        if isinstance(rows, pa.Table):
            tells_persons = len(rows) > 0
            put: Callable[..., bool] = partial(swap, rows=rows.select(self._schema.names).cast(self._schema))
        else:
            tells_persons, put = True, rows.swap
        erased = self._table.transaction_version(ERASED_APP)
        while not put(self._table, where=where, transactions=transactions):
            # Somebody took the version: a newer service, an erasure, or mere maintenance.
            refuse_if_fenced(self._table, batch)
            if tells_persons and self._table.transaction_version(ERASED_APP) != erased:
                raise PersonErased(f"a person was erased from {self._table.table_uri}: its rows are made anew")

    def finish(
        self, rows: Rows, where: str | None, batch: int, closed_until: int, marks: Sequence[Transaction] = ()
    ) -> None:
        """The same, and on record with it: the report is published up to `batch`, and what ends by a time is final."""
        final = max(closed_until, self.published.closed_until)
        # A transaction's version is no less than 0, and no window ends before 1970.
        closed = [Transaction(CLOSED_APP, final)] if final > 0 else []
        self.put(rows, where, batch, [Transaction(WRITER_APP, batch), *closed, *marks])

    def close(self, batch: int, closed_until: int) -> None:
        """An empty publication, after which older processes can publish no more. Raises Replaced as `put` does.

        Windows that end no later than a time are final with it.
        """
        self.finish(self._schema.empty_table(), None, batch, closed_until)

    def reset(self, batch: int, closed_until: int) -> None:
        """The same, after which windows are final up to an earlier time than before: their watermark was put back."""
        closed = Transaction(CLOSED_APP, max(0, closed_until))
        self.put(self._schema.empty_table(), None, batch, [Transaction(WRITER_APP, batch), closed])


def published(warehouse: str, spec: TableSpec) -> Published:
    """How far a result table is published."""
    return Results(warehouse, spec).published


def statements_for(rows: int) -> int:
    """In how many statements so many rows of panes are taken; no more than some, for each reads all files."""
    return min(rows // MANY_ROWS + 1, _MANY_STATEMENTS)


def committed(name: str, batch: int, among: str = "true") -> str:
    """SQL of a consumer's rows in `panes` up to a committed batch, for which a condition holds.

    All of them count: what older processes left of batches that were never committed went when the epoch began.
    """
    return f"SELECT * FROM panes WHERE report = '{name}' AND batch <= {batch} AND {among}"  # noqa: S608 - our own names


def values(rows: Iterable[tuple[int, ...]]) -> str:
    """Rows of numbers, as SQL after VALUES."""
    return ", ".join(f"({', '.join(map(str, row))})" for row in rows)


def moment(milliseconds: int) -> datetime:
    """A time as a timestamp in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def moments(milliseconds: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as timestamps in UTC."""
    return milliseconds.cast(pa.timestamp("ms", tz="UTC"))


def utc(milliseconds: int) -> str:
    """A time as delta-rs takes it in a predicate, which has no way to write a number as a timestamp in UTC."""
    return moment(milliseconds).isoformat(timespec="milliseconds")
