"""Measures whether a start or maintenance costs more in an older warehouse, with ledgers of very different ages."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from rich.table import Table

from benchmarks.report import by_number
from benchmarks.rows import rows_of
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import LEDGER

_FILE_BATCHES: Final = 100_000
_OPEN_MS: Final = 3_600_000
"""Age of the oldest window that is not final, in milliseconds."""
_BATCHES_OF_EPOCH: Final = 600
_BATCHES_TO_TIDY: Final = 60


def starts_by_age(ages: Sequence[int], work: Path) -> dict[int, dict[str, float]]:
    """Returns the result of `measure_start` by number of batches; each runs in a process of its own."""
    results = {}
    for age in ages:
        warehouse = str(work / f"age-{age}")
        _write(warehouse, age)
        command = [sys.executable, "-m", "benchmarks.age", warehouse]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        results[age] = json.loads(output)
    return results


def _write(warehouse: str, batches: int) -> None:
    """Writes a ledger with one batch per second that moves the watermark, and an epoch every ten minutes."""
    handle = Handle.of(LEDGER, warehouse)
    opening = Opening(Settings().policy(), {}).to_text()
    for first in range(0, batches, _FILE_BATCHES):
        rows = _rows(np.arange(first, min(batches, first + _FILE_BATCHES)), opening)
        if not handle.swap(rows, by=None):
            raise RuntimeError("another process writes the ledger of a benchmark")


def _rows(numbers: np.ndarray[Any, np.dtype[np.int64]], opening: str) -> pa.Table:
    epochs, places = 1 + numbers // _BATCHES_OF_EPOCH, numbers % _BATCHES_OF_EPOCH
    times = ("max_event_time", "watermark", "committed_at")
    own = {
        "batch": epochs * EPOCH + places,
        "epoch": epochs,
        "from_offset": numbers,
        "to_offset": numbers + 1,
        "watermark_before": (numbers - 1) * 1000,
        **dict.fromkeys(times, numbers * 1000),
    }
    none = dict.fromkeys(("partly_late", "too_late", "future", "malformed", "gap", "lost"), 0)
    same = {**none, "topic": "events", "partition": 0, "records": 1, "counted": 1, "slack": []}
    columns = {**same, **{name: pa.array(values) for name, values in own.items()}}
    columns["opening"] = pa.array([None if place else opening for place in places])
    return rows_of(LEDGER.schema, len(numbers), columns)


def measure_start(warehouse: str) -> dict[str, float]:
    """Reads the rows that a start reads, and then commits until the ledger merges its files.

    Returns the seconds of both, the number of watermarks read, and the peak memory in MB.
    """
    began = time.perf_counter()
    ledger = Ledger(warehouse)
    rows = ledger.latest()
    ledger.opening(rows[0].epoch)
    watermarks = ledger.watermarks((rows[0].watermark or 0) - _OPEN_MS)
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "watermarks": len(watermarks),
        "tidy_seconds": _seconds_to_tidy(ledger),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _seconds_to_tidy(ledger: Ledger) -> float:
    """Returns the seconds of the longest `tidy` after `_BATCHES_TO_TIDY` batches: only one of them merges files."""
    [row], longest = ledger.latest(), 0.0
    for _ in range(_BATCHES_TO_TIDY):
        row = replace(row, batch=row.batch + 1, from_offset=row.to_offset, to_offset=row.to_offset + 1, opening=None)
        ledger.commit([row])
        began = time.perf_counter()
        ledger.tidy()
        longest = max(longest, time.perf_counter() - began)
    return longest


def render(found: dict[int, dict[str, float]]) -> Table:
    """Returns a table with a row for each age."""
    heads = {
        "seconds": "seconds of a start",
        "watermarks": "watermarks read",
        "tidy_seconds": "seconds to merge files",
        "megabytes": "MB of the process",
    }
    return by_number("The ledger: reads of a start, and maintenance", "batches so far", found, heads)


if __name__ == "__main__":
    print(json.dumps(measure_start(sys.argv[1])))  # noqa: T201 - the parent process reads it
