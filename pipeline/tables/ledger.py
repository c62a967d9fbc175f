"""The ledger: a compare-and-swap log of batches, and the only commit point.

It is written by delta-rs and not by Spark, because the handle then commits at exactly the version after the one it
last saw, or fails: a second writer is refused. (It also takes about 6 ms instead of 160 ms.)
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import CommitFailedError

from pipeline.errors import Replaced, SetUpError
from pipeline.tables.policies import policy_of
from pipeline.tables.schemas import LEDGER, open_table
from pipeline.tables.swap import ONCE, swap
from pipeline.time.verdicts import Policy

EPOCH: Final = 10**9
"""Batch id = epoch * EPOCH + number; number 0 is the row that opens the epoch."""
_COMPACT_EVERY: Final = 200
_KEEP_HOURS: Final = 1
_FILE_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A Kafka partition in a batch: offsets half-open, times in milliseconds, watermarks of the whole service."""

    batch: int
    epoch: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    records: int
    counted: int
    partly_late: int
    too_late: int
    future: int
    malformed: int
    gap: int
    max_event_time: int | None
    watermark_before: int | None
    watermark: int | None
    committed_at: int
    slack: list[dict[str, int]] = field(default_factory=list)
    """Counted records that a smaller bound would have made too late, by how much smaller: `slack_ms`, `records`."""
    opening: str | None = None
    """The rules of the epoch, as JSON; in the row that opens it."""
    lost: int = 0
    """Offsets that were removed from the topic before they were read."""


def require_warehouse(warehouse: str) -> None:
    """Raises SetUpError where no service has made a ledger."""
    if not DeltaTable.is_deltatable(LEDGER.uri(warehouse)):
        raise SetUpError(f"there is no Tidemark warehouse at {warehouse!r}: name the one that a service writes to")


def replaced(newest_epoch: int, own_epoch: int) -> Replaced:
    """What a service says that finds a newer epoch in the ledger."""
    return Replaced(
        f"another service has opened epoch {newest_epoch} on this warehouse; this one was epoch {own_epoch} and stops. "
        "Run one service per warehouse"
    )


class Ledger:
    """One writer's view of the ledger; its handle moves only with its own commits until it is refused."""

    def __init__(self, warehouse: str) -> None:
        self._table = open_table(LEDGER, warehouse)
        self._commits = 0
        self._last = 0

    def latest(self) -> list[LedgerRow]:
        """The newest batch's rows, one per Kafka partition; none in a new warehouse. Moves the handle: for starts."""
        self._table.update_incremental()
        rows = self._ask("SELECT * FROM ledger WHERE batch = (SELECT max(batch) FROM ledger)")
        return [LedgerRow(**row) for row in rows]

    def last_batches(self) -> dict[int, int]:
        """The last committed batch of each epoch: rows elsewhere of a later one are void."""
        rows = self._ask("SELECT epoch, max(batch) AS last FROM ledger GROUP BY epoch")
        return {row["epoch"]: row["last"] for row in rows}

    def watermarks(self) -> list[tuple[int, int]]:
        """Each watermark and the first batch that reached it, in order."""
        rows = self._ask("SELECT watermark, min(batch) AS first FROM ledger GROUP BY watermark ORDER BY watermark")
        return [(row["watermark"], row["first"]) for row in rows if row["watermark"] is not None]

    def policies(self) -> dict[int, Policy]:
        """The rules that each epoch went by."""
        rows = self._ask("SELECT DISTINCT epoch, opening FROM ledger WHERE opening IS NOT NULL")
        return {row["epoch"]: policy_of(row["opening"]) for row in rows}

    def commit(self, rows: Sequence[LedgerRow]) -> None:
        """Appends one batch's rows. Raises Replaced if a newer epoch was opened; mere maintenance does not matter."""
        while not self.commit_next(rows):
            self._refuse_if_newer(rows[0].batch)

    def commit_next(self, rows: Sequence[LedgerRow]) -> bool:
        """Appends one batch's rows at exactly the version after the one that the handle is at.

        False if somebody else took that version: then the handle moves on, and what was read before may be outdated.
        """
        data = pa.Table.from_pylist([asdict(row) for row in rows], schema=LEDGER.schema)
        if not swap(self._table, data):
            return False
        self._commits += 1
        self._last = rows[0].batch
        return True

    def tidy(self) -> None:
        """Merges small files now and then, so that no cost grows with the number of batches.

        Raises Replaced if a newer epoch was opened: maintenance moves the handle to the newest version, whoever made
        it, so the next commit would no longer be refused.
        """
        if self._commits < _COMPACT_EVERY:
            return
        self._commits = 0
        with suppress(CommitFailedError):  # somebody else's commit came first: the next time will do
            self._table.optimize.compact(target_size=_FILE_BYTES, commit_properties=ONCE)
            self._table.vacuum(_KEEP_HOURS, dry_run=False, enforce_retention_duration=False)
        self._refuse_if_newer(self._last + 1)

    def _refuse_if_newer(self, batch: int) -> None:
        """Whether `batch` can still come next, by all that the handle sees."""
        newest = max(self.last_batches().values(), default=0)
        if newest >= batch:
            raise replaced(newest // EPOCH, batch // EPOCH)

    def _ask(self, sql: str) -> list[dict[str, Any]]:
        # In SQL, because a pyarrow dataset costs some milliseconds per file before its first row.
        rows: list[dict[str, Any]] = pa.table(
            QueryBuilder().register(LEDGER.name, self._table).execute(sql)
        ).to_pylist()
        return rows
