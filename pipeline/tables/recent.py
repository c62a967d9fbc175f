"""The last few batches of the ledger."""

from typing import Final

from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.tables.query import Row, rows_of

_BATCHES: Final = 10


def recent_rows(ledger: DeltaTable, newest: int) -> list[Row]:
    """The rows of the last few batches of the newest epoch; those of the epoch before lie a billion back."""
    names = (c.BATCH, c.TOPIC, c.PARTITION, "to_offset", c.RECORDS, c.MAX_EVENT_TIME, c.WATERMARK, "committed_at")
    return rows_of(
        f"SELECT {', '.join(names)} FROM ledger "  # noqa: S608 - our own names
        f"WHERE {c.BATCH} > {newest - _BATCHES} ORDER BY {c.BATCH}, {c.PARTITION}",
        ledger=ledger,
    )


def rate_of(recent: list[Row]) -> float | None:
    """Records per second from the first of the batches to the last; None if there is no time between them."""
    first, last = recent[0], recent[-1]
    elapsed_ms = last["committed_at"] - first["committed_at"]
    records = sum(row[c.RECORDS] for row in recent if row[c.BATCH] > first[c.BATCH])
    return records * 1000 / elapsed_ms if elapsed_ms > 0 else None
