"""What the small result of a fold becomes on the driver: panes and dead letters."""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.frames import columns as c
from pipeline.frames.checks import DETAILS, Check, verdict_of

_PASSED: Final = int(Check.PASSED)
PIECE_BYTES: Final = 256 * 1024 * 1024
"""Roughly the most that the driver takes at once."""


def pieces(folded: DataFrame, size: int) -> Iterator[pa.Table]:
    """The rows of a fold, about `size` bytes of them: at once, or in as many pieces as the driver has room for."""
    number = size // PIECE_BYTES + 1
    if number == 1:
        yield folded.toArrow()
        return
    piece = F.pmod(F.xxhash64(c.USER_ID, c.PARTITION, c.OFFSET), F.lit(number))
    for turn in range(number):
        yield folded.where(piece == turn).toArrow()


def panes(folded: pa.Table, batch: int, watermark: int) -> pa.Table:
    """Rows of `panes`: partial counts with the batch and the watermark from before it."""
    counted = folded.filter(pc.field(c.CHECK) == _PASSED)
    clicks = counted[c.CLICKS]
    return pa.table(
        {
            c.BATCH: _same(batch, counted),
            c.PANE_START: counted[c.PANE_START],
            c.USER_ID: counted[c.USER_ID],
            c.PAGE_VIEWS: pc.subtract(counted[c.RECORDS], clicks),
            c.CLICKS: clicks,
            c.WATERMARK: _same(watermark, counted),
        }
    )


def dead_letters(folded: pa.Table, topic: str, batch: int, watermark: int | None) -> pa.Table:
    """Rows of `dead_letters`: every rejected record with its bytes, why, and the watermark that judged it."""
    rejected = folded.filter(pc.field(c.CHECK) != _PASSED)
    as_read = {
        name: rejected[name]
        for name in (c.PARTITION, c.OFFSET, c.KAFKA_TIMESTAMP, c.EVENT_TIME, c.USER_ID, c.KEY, c.VALUE)
    }
    return pa.table(
        {
            c.REASON: _text_of([str(verdict_of(check)) for check in Check], rejected),
            c.DETAIL: _text_of([DETAILS[check] for check in Check], rejected),
            c.TOPIC: _same(topic, rejected),
            c.WATERMARK: _same(watermark, rejected),
            c.BATCH: _same(batch, rejected),
            **as_read,
        }
    )


def _same(value: Any, rows: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(value), len(rows))


def _text_of(texts: list[str], rows: pa.Table) -> pa.ChunkedArray:
    return pc.take(pa.array(texts), rows[c.CHECK])
