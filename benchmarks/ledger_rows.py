"""Makes artificial rows of the ledger."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchmarks.rows import rows_of
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.tables.schemas import LEDGER

_PARTITIONS: Final = 4
_RECORDS: Final = 1000
Batches = np.ndarray[Any, np.dtype[np.int64]]
"""A number for each batch."""


def ledger_rows(
    numbers: Batches, times: Batches, before: Batches, *, rejected: int = 0, opening: str | None = None
) -> pa.Table:
    """Returns the rows of the batches with these numbers of the first epoch, four partitions each.

    `times` are their watermarks in ms, and `before` those before them; `rejected` records of each are too late.
    """
    numbers, times, before = (np.repeat(values, _PARTITIONS) for values in (numbers, times, before))
    partitions = np.tile(np.arange(_PARTITIONS, dtype=np.int32), len(numbers) // _PARTITIONS)
    own = {
        "batch": EPOCH + numbers,
        "partition": partitions,
        "from_offset": numbers * _RECORDS,
        "to_offset": (numbers + 1) * _RECORDS,
        "max_event_time": times,
        "watermark_before": before,
        "watermark": times,
        "committed_at": times,
    }
    none = dict.fromkeys(("partly_late", "future", "malformed", "gap", "lost"), 0)
    counts = {"records": _RECORDS, "counted": _RECORDS - rejected, "too_late": rejected}
    same: dict[str, Any] = {**none, **counts, "epoch": 1, "topic": "events", "slack": [], "opening": opening}
    return rows_of(LEDGER.schema, len(numbers), same | {name: pa.array(values) for name, values in own.items()})
