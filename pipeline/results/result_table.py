"""A result table and its single writer, whose commits are refused once a newer service has fenced the table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa
from deltalake import DeltaTable, Transaction

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.firing import PublicationState
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.instants import ms_of, utc_sql
from tidemark.pipeline.results.spill import Spill
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.large import ExecutorWrite
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import TableSpec
from tidemark.pipeline.tables.transactions import CLOSED_APP, PUBLISHED_APP

_MANY_STATEMENTS: Final = 16
Rows: TypeAlias = "Spill | ExecutorWrite | pa.Table"
"""Rows of a table: in memory, on the disk, or still to be made and written by executors."""


class ResultChunk(NamedTuple):
    """Rows of one commit. `where` is the SQL condition for the rows of the table that they replace; None to append."""

    rows: Rows
    where: str | None
    is_last: bool = False
    """Whether its commit records the publication; without a last chunk an empty commit does."""


@dataclass(frozen=True, slots=True)
class PublicationPlan:
    """A publication of one result table, made from panes and from one version of the table."""

    chunks: Iterable[ResultChunk]
    """Each is made when it is asked for, which is after the chunk before it was committed."""
    transactions: Sequence[Transaction] = ()
    """Transaction versions that the last commit sets, in addition to those that every publication sets."""


class Results:
    """One service's view of a result table."""

    def __init__(self, warehouse: str, spec: TableSpec) -> None:
        self.schema = spec.schema
        self.handle = Handle(spec.uri(warehouse))

    @property
    def published(self) -> PublicationState:
        """Progress of the publication, in the handle's version of the table."""
        return PublicationState(self.handle.last(PUBLISHED_APP), rules.as_number(self.handle.transaction(CLOSED_APP)))

    def put(self, rows: Rows, where: str | None, batch: int, transactions: Sequence[Transaction] = ()) -> bool:
        """Appends rows, or replaces rows that fulfil the SQL condition `where`, on the version they were made from.

        Returns False if another commit came first: then the rows must be made again. Raises Replaced if a newer service
        has fenced the table.
        """
        if isinstance(rows, pa.Table):
            data = rows.select(self.schema.names).cast(self.schema)
            return self.handle.swap(data, where, by=batch, transactions=transactions)
        return rows.swap(self.handle, where, by=batch, transactions=transactions)

    def finish(
        self, rows: Rows, where: str | None, batch: int, closed_until: int, transactions: Sequence[Transaction] = ()
    ) -> bool:
        """Like `put`, and in the same commit records that the report is published up to `batch`.

        Windows that end at or before `closed_until` (ms) become final.
        """
        final = max(closed_until, self.published.closed_until)
        # A transaction version is at least 0, and no window ends before 1970.
        closed = [Transaction(CLOSED_APP, final)] if final > 0 else []
        return self.put(rows, where, batch, [Transaction(PUBLISHED_APP, batch), *closed, *transactions])

    def close(self, batch: int, closed_until: int) -> None:
        """Makes windows that end at or before `closed_until` (ms) final, without publishing a row. Raises Replaced."""
        while not self.finish(self.schema.empty_table(), None, batch, closed_until):
            pass


def published(warehouse: str, spec: TableSpec) -> PublicationState:
    """Returns how far a result table is published."""
    return Results(warehouse, spec).published


def latest_end(table: DeltaTable, until: int | None = None) -> int:
    """Returns the latest end, in ms, of a published window, or of one that ends by `until`; 0 without such a window."""
    where = "" if until is None else f" WHERE {c.WINDOW_END} <= {utc_sql(until)}"
    latest = rows_of(f"SELECT max({c.WINDOW_END}) AS latest FROM result{where}", result=table)[0]["latest"]  # noqa: S608 - ours
    return ms_of(latest) if latest else 0


def statement_count(rows: int, statement_rows: int) -> int:
    """Returns the number of statements that read `rows` rows of panes, about `statement_rows` each.

    It is limited, because each statement reads all files.
    """
    return min(rows // statement_rows + 1, _MANY_STATEMENTS)


def panes_sql(consumer: Consumer, batch: int, condition: str = "true") -> str:
    """Returns SQL of a consumer's rows in `panes` up to a committed batch that fulfil a condition on columns and keys.

    Uncommitted rows of older processes were removed when the epoch began.
    """
    of_consumer = f"FROM panes WHERE report = '{consumer.name}' AND batch <= {batch}"
    if not consumer.typed_keys_sql:
        return f"SELECT * {of_consumer} AND {condition}"
    return f"SELECT * FROM (SELECT *{consumer.typed_keys_sql} {of_consumer}) AS keyed WHERE {condition}"  # noqa: S608 - our own names


def values_sql(rows: Iterable[tuple[int, ...]]) -> str:
    """Returns SQL of rows of numbers, after VALUES."""
    return ", ".join(f"({', '.join(map(str, row))})" for row in rows)


def timestamps(milliseconds: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns times as timestamps in UTC."""
    return milliseconds.cast(pa.timestamp("ms", tz="UTC"))
