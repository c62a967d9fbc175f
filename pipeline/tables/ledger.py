"""The ledger: a compare-and-swap log of batches, and the only commit point.

delta-rs and not Spark writes it, because a handle commits at exactly the version after its own, or
fails: a second writer is refused. (It also takes about 6 ms instead of 160 ms.)
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.errors import BrokenChain, SetUpError
from tidemark.pipeline.event_time.batch import EPOCH, LedgerRow
from tidemark.pipeline.event_time.firing import WatermarkStep
from tidemark.pipeline.tables.durable import mend
from tidemark.pipeline.tables.fencing import replaced
from tidemark.pipeline.tables.file_statistics import highest, smaller_files
from tidemark.pipeline.tables.handle import Handle, create_table
from tidemark.pipeline.tables.merging import merge_small_files
from tidemark.pipeline.tables.opening import Opening, read_opening, require_known_format
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import LEDGER, find_table, is_table
from tidemark.pipeline.tables.store_errors import STORE_ERRORS
from tidemark.pipeline.tuning import STANDARD

_ROW: Final = frozenset(field.name for field in fields(LedgerRow))
_KEEP_HOURS: Final = 1
_FILE_BYTES: Final = 16 * 1024 * 1024
_RECENT: Final = 10
"""The number of batches from which the rate is computed."""


def require_warehouse(warehouse: str) -> None:
    """Raises SetUpError if the warehouse has no ledger, or its format is newer than this version."""
    if not is_table(LEDGER.uri(warehouse)):
        raise SetUpError(
            f"there is no Tidemark warehouse at {warehouse!r} (no ledger): name the warehouse that a service writes to"
        )
    for text in _newest_opening(warehouse):
        require_known_format(text)


def warehouse_id(warehouse: str) -> str | None:
    """Returns the id of a warehouse: Delta's id of its ledger, also of a copy. None without a readable ledger."""
    with suppress(*STORE_ERRORS):
        ledger = find_table(LEDGER.name, warehouse)
        return str(ledger.metadata().id) if ledger else None
    return None


def _newest_opening(warehouse: str) -> list[str]:
    """Returns the newest opening; empty without one, or if the ledger cannot be read, which the caller will notice."""
    with suppress(*STORE_ERRORS):
        ledger = DeltaTable(LEDGER.uri(warehouse))
        if epoch := highest(ledger, "epoch"):
            sql = f"SELECT opening FROM ledger WHERE batch = {epoch * EPOCH} AND opening IS NOT NULL LIMIT 1"  # noqa: S608 - our own number
            return [row["opening"] for row in rows_of(sql, ledger=ledger)]
    return []


def has_columns(table: DeltaTable, names: Iterable[str]) -> bool:
    """Returns whether a table has all of these columns: a table of an older version may lack some."""
    return {*names} <= {field.name for field in table.schema().fields}


def sums_sql(ledger: DeltaTable, names: Iterable[str]) -> str:
    """SQL: the sums of columns, each with its name; 0 for a column that the ledger does not have yet."""
    columns = {field.name for field in ledger.schema().fields}
    return ", ".join(f"coalesce(sum({name}), 0) AS {name}" if name in columns else f"0 AS {name}" for name in names)


def recent_rows(ledger: DeltaTable, newest: int) -> list[Row]:
    """Returns the rows of the last few batches of the newest epoch; `newest` is the newest batch."""
    names = (c.BATCH, c.TOPIC, c.PARTITION, "to_offset", c.RECORDS, c.MAX_EVENT_TIME, c.WATERMARK, "committed_at")
    return rows_of(
        f"SELECT {', '.join(names)} FROM ledger "  # noqa: S608 - our own names
        f"WHERE {c.BATCH} > {newest - _RECENT} ORDER BY {c.BATCH}, {c.PARTITION}",
        ledger=ledger,
    )


def rate_of(recent: Sequence[Row]) -> float | None:
    """Returns the records per second from the first to the last batch of `recent` rows, None if no time has passed."""
    first, last = recent[0], recent[-1]
    elapsed_ms = last["committed_at"] - first["committed_at"]
    records = sum(row[c.RECORDS] for row in recent if row[c.BATCH] > first[c.BATCH])
    return records * 1000 / elapsed_ms if elapsed_ms > 0 else None


class Ledger:
    """One writer's view of the ledger; its handle moves only with its own commits, until a commit is refused.

    The first commit creates the table. Reads open only the files with the newest rows, by file statistics, so that a
    start takes the same time however old the warehouse is.
    """

    def __init__(self, warehouse: str, *, mends: bool = True, many_files: int = STANDARD.ledger_files) -> None:
        """With `mends` a commit that a power cut left incomplete is rolled back when the ledger is opened.

        `tidy` merges `many_files` small files.
        """
        self._many_files = many_files
        self._warehouse = warehouse
        self._mends = mends
        self._handle: Handle | None = None
        self._last: Sequence[LedgerRow] = ()
        self._files = 0

    @property
    def warehouse_id(self) -> str:
        """Delta's id of the ledger, which has been read or written."""
        assert self._handle  # noqa: S101 - for the type checker
        return str(self._handle.table.metadata().id)

    def latest(self) -> Sequence[LedgerRow]:
        """Returns the newest batch's rows, one per Kafka partition. Moves the handle, so it is for starts."""
        self._open()
        newest = self._newest()
        rows = self._ask(f"SELECT * FROM ledger WHERE batch = {newest} ORDER BY partition") if newest else []  # noqa: S608 - our own number
        self._last = [LedgerRow(**{name: row[name] for name in _ROW & row.keys()}) for row in rows]
        return self._last

    def opening(self, epoch: int) -> Opening:
        """Returns the opening of an epoch."""
        rows = self._ask(f"SELECT opening FROM ledger WHERE batch = {epoch * EPOCH} AND opening IS NOT NULL LIMIT 1")  # noqa: S608 - our own number
        return read_opening(rows[0]["opening"])

    def openings(self, since: int = 0) -> dict[int, Opening]:
        """Returns the openings by epoch, in order, from epoch `since` on.

        Does not move an open handle: what was read before must hold for the next commit.
        """
        if self._handle is None:
            self._open()
        rows = self._ask(
            "SELECT DISTINCT epoch, opening FROM ledger "  # noqa: S608 - our own number
            f"WHERE opening IS NOT NULL AND batch >= {since * EPOCH} ORDER BY epoch"
        )
        return {row["epoch"]: read_opening(row["opening"]) for row in rows}

    def reset_to(self) -> int | None:
        """Returns the watermark (ms) of a reset after which no service has started; None without such a reset."""
        self._open()
        newest = self._newest()
        if newest == 0 or newest % EPOCH:
            return None
        last = self.opening(newest // EPOCH).last_batch
        resets = [opening.reset for opening in self.openings(last // EPOCH).values() if opening.reset]
        return resets[-1].watermark if resets else None

    def last_with(self, names: Iterable[str], after: int, before: int) -> int | None:
        """Returns the last batch after `after` and before `before` with one of these counts; None without it."""
        columns = [] if self._handle is None else [field.name for field in self._handle.table.schema().fields]
        present = [f"{name} > 0" for name in names if name in columns]
        rows = self._ask(
            f"SELECT max(batch) AS last FROM ledger WHERE batch > {after} AND batch < {before} "  # noqa: S608 - our own
            f"AND ({' OR '.join(present)})"
        )
        return rows[0]["last"] if rows else None

    def known_since(self, partitions: Iterable[int]) -> int | None:
        """Returns the time in ms of the first commit after which all of these partitions were known; None before it."""
        rows = self._ask(
            'SELECT min(committed_at) AS first FROM ledger WHERE "partition" '  # noqa: S608 - our own numbers
            f'IN ({", ".join(map(str, partitions))}) GROUP BY "partition"'
        )
        return max((row["first"] for row in rows), default=None)

    def watermarks(self, since: int) -> list[WatermarkStep]:
        """Returns each watermark from `since` on, in milliseconds, and the first batch that reached it, in order."""
        rows = self._ask(
            f"SELECT watermark, min(batch) AS first FROM ledger WHERE watermark >= {since} "  # noqa: S608 - our own number
            "GROUP BY watermark ORDER BY watermark"
        )
        return [WatermarkStep(row[c.WATERMARK], row["first"]) for row in rows]

    def commit(self, rows: Sequence[LedgerRow]) -> None:
        """Appends one batch's rows, also after maintenance. Raises Replaced if a newer epoch was opened.

        Raises BrokenChain, without a commit, if the rows do not continue the last ones.
        """
        while not self.commit_next(rows):
            self._refuse_if_newer(rows[0].batch)

    def commit_next(self, rows: Sequence[LedgerRow]) -> bool:
        """Appends one batch's rows at exactly the version after the version of the handle.

        Returns False if another commit took that version, or another start has created the table: then what was read
        before may be outdated. Raises BrokenChain if a row does not start at the end of the row before it.
        """
        _check_continues(self._last, rows)
        if self._handle is None:
            if not create_table(LEDGER, self._warehouse):
                return False
            self._handle = Handle(LEDGER.uri(self._warehouse), version=0)
        data = pa.Table.from_pylist([asdict(row) for row in rows], schema=LEDGER.schema)
        # The ledger of an older version gets missing columns with the rows that open an epoch.
        lacks = rows[0].opening is not None and not has_columns(self._handle.table, LEDGER.schema.names)
        if not self._handle.swap(data, by=None, schema_mode="merge" if lacks else None):
            return False
        self._files += 1
        self._last = rows
        return True

    def tidy(self) -> None:
        """Merges small files when there are many, so that no cost grows with the number of batches.

        Raises Replaced if a newer epoch was opened, because the handle moves and the next commit would not be refused.
        """
        if self._files < self._many_files or self._handle is None:
            return
        self._files = 0
        if merge_small_files(self._handle, _FILE_BYTES, self._many_files, by=None):
            self._handle.vacuum(_KEEP_HOURS)
        self._handle.refresh()
        self._refuse_if_newer(self._last[0].batch + 1)

    def _open(self) -> None:
        uri = LEDGER.uri(self._warehouse)
        if self._handle is None and is_table(uri):
            if self._mends:
                mend(uri)
            self._handle = Handle(uri)
        if self._handle is not None:
            self._handle.refresh()
            self._files = smaller_files(self._handle.table, _FILE_BYTES)

    def _newest(self) -> int:
        """Returns the newest batch, from file statistics alone; 0 in a new warehouse."""
        newest: int | None = highest(self._handle.table, c.BATCH) if self._handle else None
        return newest or 0

    def _refuse_if_newer(self, batch: int) -> None:
        """Raises Replaced or BrokenChain unless `batch` can still come next, as of the handle's version."""
        newest = self._newest()
        if newest // EPOCH > batch // EPOCH:
            raise replaced(newest // EPOCH, batch // EPOCH)
        if newest >= batch:
            raise BrokenChain(f"batch {batch} is in the ledger already, and another process committed it")

    def _ask(self, sql: str) -> list[Row]:
        return [] if self._handle is None else rows_of(sql, ledger=self._handle.table)


def _check_continues(last: Sequence[LedgerRow], rows: Sequence[LedgerRow]) -> None:
    """Raises BrokenChain unless `rows` have every partition from where it ended, and no lower watermark.

    Only after a reset by hand, which the opening records, the watermark may be lower.
    """
    begins = {row.partition: row.from_offset for row in rows}
    for row in last:
        if begins.get(row.partition) != row.to_offset:
            raise BrokenChain(
                f"batch {rows[0].batch} begins at offset {begins.get(row.partition)} of partition {row.partition}, but "
                f"the ledger ends at {row.to_offset}: nothing was committed. This is a defect of Tidemark"
            )
    was_reset = rows[0].opening is not None and Opening.from_text(rows[0].opening).reset is not None
    before, after = last[0].watermark if last else None, rows[0].watermark
    if before is not None and (after is None or after < before) and not was_reset:
        raise BrokenChain(
            f"batch {rows[0].batch} would take the watermark from {before} back to {after}: nothing was committed. "
            "This is a defect of Tidemark"
        )
