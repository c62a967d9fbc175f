"""Whether a start costs more the older the warehouse is: what it reads of ledgers of very different ages."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from rich.table import Table

from pipeline.settings import Settings
from pipeline.tables.ledger import Ledger
from pipeline.tables.opening import Opening
from pipeline.tables.schemas import LEDGER, open_table
from pipeline.tables.swap import swap
from pipeline.time.batch import EPOCH, LedgerRow

_FILE_BATCHES: Final = 100_000
_OPEN_MS: Final = 3_600_000
"""How far the windows reach back that are not final."""
_BATCHES_OF_EPOCH: Final = 600


def starts_by_age(ages: Sequence[int], work: Path) -> dict[int, dict[str, float]]:
    """Per number of batches: seconds, and MB of the process, each in a process of its own."""
    found = {}
    for age in ages:
        warehouse = str(work / f"age-{age}")
        _write(warehouse, age)
        command = [sys.executable, "-m", "benchmarks.age", warehouse]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[age] = json.loads(said)
    return found


def _write(warehouse: str, batches: int) -> None:
    """A batch a second, each of which moves the watermark, and an epoch every ten minutes."""
    table = open_table(LEDGER, warehouse)
    opening = Opening(Settings().policy(), {}).to_text()
    for first in range(0, batches, _FILE_BATCHES):
        numbers = range(first, min(batches, first + _FILE_BATCHES))
        rows = pa.Table.from_pylist([asdict(_row(number, opening)) for number in numbers], schema=LEDGER.schema)
        if not swap(table, rows):
            raise RuntimeError("somebody else writes the ledger of a benchmark")


def _row(number: int, opening: str) -> LedgerRow:
    epoch, place = 1 + number // _BATCHES_OF_EPOCH, number % _BATCHES_OF_EPOCH
    return LedgerRow(
        batch=epoch * EPOCH + place,
        epoch=epoch,
        topic="events",
        partition=0,
        from_offset=number,
        to_offset=number + 1,
        records=1,
        counted=1,
        partly_late=0,
        too_late=0,
        future=0,
        malformed=0,
        gap=0,
        lost=0,
        max_event_time=number * 1000,
        watermark_before=(number - 1) * 1000,
        watermark=number * 1000,
        committed_at=number * 1000,
        opening=None if place else opening,
    )


def read_as_a_start(warehouse: str) -> dict[str, float]:
    """What a start asks of the ledger."""
    began = time.perf_counter()
    ledger = Ledger(warehouse)
    rows = ledger.latest()
    ledger.opening(rows[0].epoch)
    found = ledger.watermarks((rows[0].watermark or 0) - _OPEN_MS)
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "watermarks": len(found),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def render(found: dict[int, dict[str, Any]]) -> Table:
    """One row for each age."""
    table = Table(title="What a start reads of the ledger", title_justify="left")
    for name in ("batches so far", "seconds", "watermarks read", "MB of the process"):
        table.add_column(name, justify="right")
    for age, row in found.items():
        table.add_row(f"{age:,}", f"{row['seconds']:.3f}", f"{row['watermarks']:,.0f}", f"{row['megabytes']:.0f}")
    return table


if __name__ == "__main__":
    print(json.dumps(read_as_a_start(sys.argv[1])))  # noqa: T201 - it is how the parent learns of it
