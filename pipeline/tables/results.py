"""A report's result table: one writer, whose commits are refused once a newer service has published."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pyarrow as pa
from deltalake import DeltaTable, Transaction

from pipeline.tables.ledger import EPOCH, replaced
from pipeline.tables.schemas import WRITER_APP, result_of
from pipeline.tables.swap import swap
from pipeline.time.report import Report


class Results:
    """One writer's view of a result table; its handle moves only with its own commits until it is refused."""

    def __init__(self, warehouse: str, report: Report) -> None:
        spec = result_of(report)
        self._schema = spec.schema
        self._table = DeltaTable(spec.uri(warehouse))
        self._published = 0

    def put(self, rows: pa.Table, where: str | None, batch: int) -> None:
        """Adds the rows, in the place of those for which `where` holds.

        `batch` becomes the transaction version, by which a start knows how far publication came. What the table has of
        this batch already it does not take again: a publication that failed at another table is repeated as a whole.
        Raises Replaced if a newer service has published.
        """
        if batch <= self._published:
            return
        data = rows.select(self._schema.names).cast(self._schema)
        while not swap(self._table, data, where, Transaction(WRITER_APP, batch)):
            # Somebody took the version: a newer service, or mere maintenance.
            newest = self._table.transaction_version(WRITER_APP) or 0
            if newest // EPOCH > batch // EPOCH:
                raise replaced(newest // EPOCH, batch // EPOCH)
            if newest == batch:
                break  # one's own, whose answer was lost
        self._published = batch

    def fence(self, batch: int) -> None:
        """An empty publication, after which older processes can publish no more. Raises Replaced likewise."""
        self.put(self._schema.empty_table(), None, batch)


def last_published(warehouse: str, report: Report) -> int | None:
    """The batch up to which a report is published, None if never."""
    return DeltaTable(result_of(report).uri(warehouse)).transaction_version(WRITER_APP)


def committed(report: Report, last_batches: Mapping[int, int], among: str = "true") -> str:
    """SQL of a report's rows in `panes` that count, for which a condition holds.

    `last_batches` maps each epoch to its last committed batch: panes of a later one are void.
    """
    return (
        f"SELECT panes.* FROM panes JOIN (VALUES {values(last_batches.items())}) AS lives (epoch, last) "  # noqa: S608 - our own names and numbers
        f"ON batch / {EPOCH} = epoch AND batch <= last WHERE report = '{report.name}' AND {among}"
    )


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
