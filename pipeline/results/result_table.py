"""A result table: one writer, whose commits are refused once a newer service has fenced it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa
from deltalake import Transaction

from pipeline.event_time import rules
from pipeline.event_time.firing import Published
from pipeline.results.spill import Spill
from pipeline.tables.handle import Handle
from pipeline.tables.large import ExecutorWrite
from pipeline.tables.schemas import CLOSED_APP, WRITER_APP, TableSpec

MANY_ROWS: Final = 1_000_000
"""From this many rows on, a portion is committed before the next one is made."""
_MANY_STATEMENTS: Final = 16
Rows: TypeAlias = "Spill | ExecutorWrite | pa.Table"
"""Rows of a table: in memory, on the disk, or still to be made and written by executors."""
Portion = tuple[Rows, str | None]
"""Rows of a result, and which rows of the table they replace, as SQL; None: they are appended."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A publication of a report, made from panes and from one version of its table."""

    portions: Iterable[Portion | None]
    """Each is made when it is asked for. None: what came before it must be in the table before the next one is made."""
    transactions: Sequence[Transaction] = ()
    """Recorded with the last portion, in addition to what every publication records."""


class Results:
    """One writer's view of a result table."""

    def __init__(self, warehouse: str, spec: TableSpec) -> None:
        self.schema = spec.schema
        self.handle = Handle(spec.uri(warehouse))

    @property
    def published(self) -> Published:
        """How far the table is published, as of the handle's version."""
        return Published(
            self.handle.last(WRITER_APP), rules.as_number(self.handle.table.transaction_version(CLOSED_APP))
        )

    def put(self, rows: Rows, where: str | None, batch: int, transactions: Sequence[Transaction] = ()) -> bool:
        """Appends rows, or replaces those for which `where` holds, on the version from which they were made.

        Returns False if another commit was first: they must be made again. Raises Replaced if a newer service has
        fenced the table.
        """
        if isinstance(rows, pa.Table):
            data = rows.select(self.schema.names).cast(self.schema)
            return self.handle.swap(data, where, by=batch, transactions=transactions)
        return rows.swap(self.handle, where, by=batch, transactions=transactions)

    def finish(
        self, rows: Rows, where: str | None, batch: int, closed_until: int, transactions: Sequence[Transaction] = ()
    ) -> bool:
        """Like `put`, and in the same commit records that the report is published up to `batch`.

        Windows that end no later than `closed_until`, in milliseconds, are final with it.
        """
        final = max(closed_until, self.published.closed_until)
        # A transaction's version is no less than 0, and no window ends before 1970.
        closed = [Transaction(CLOSED_APP, final)] if final > 0 else []
        return self.put(rows, where, batch, [Transaction(WRITER_APP, batch), *closed, *transactions])

    def close(self, batch: int, closed_until: int) -> None:
        """An empty publication, with which windows up to a time, in milliseconds, are final. Raises Replaced."""
        while not self.finish(self.schema.empty_table(), None, batch, closed_until):
            pass


def published(warehouse: str, spec: TableSpec) -> Published:
    """Returns how far a result table is published."""
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


def moments(milliseconds: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as timestamps in UTC."""
    return milliseconds.cast(pa.timestamp("ms", tz="UTC"))
