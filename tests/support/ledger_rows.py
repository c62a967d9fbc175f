"""Ledgers made by hand."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from tidemark.pipeline.event_time.batch import EPOCH, LedgerRow
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import LEDGER

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)


def ledger_row(batch: int, partition: int, records: int, committed_at: int) -> LedgerRow:
    """A row that begins at offset 0 and whose records were all counted."""
    return LedgerRow(
        batch=batch,
        epoch=batch // EPOCH,
        topic="clicks",
        partition=partition,
        from_offset=0,
        to_offset=records,
        records=records,
        counted=records,
        partly_late=0,
        too_late=0,
        future=0,
        malformed=0,
        gap=0,
        lost=0,
        max_event_time=None,
        watermark_before=None,
        watermark=None,
        committed_at=committed_at,
        opening=None if batch % EPOCH else Opening(Settings().policy(), {}).to_text(),
    )


def commit(warehouse: Path | str, *rows: LedgerRow) -> None:
    """Appends rows to the ledger, with no question asked."""
    data = pa.Table.from_pylist([asdict(it) for it in rows], schema=LEDGER.schema)
    write_deltalake(Handle.of(LEDGER, str(warehouse)).table, data, mode="append")
