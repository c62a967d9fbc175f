"""Tidemark as a contestant: the service, opened by its public API, in a process of its own."""

import os
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

from deltalake import DeltaTable

from benchmarks.measure import Stopwatch, descendants, peak_bytes
from benchmarks.settings import service_settings
from benchmarks.task import FIRST_COMMIT, Drain, Task, serve, task_argument
from benchmarks.verify import committed_at, verify
from tidemark.pipeline.app import open_service
from tidemark.pipeline.runtime.disk import Purpose, Traffic
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, EVENT_IDS, PAGE_VIEWS, PANES, is_table
from tidemark.pipeline.tables.traffic import traffic


def drain(task: Task, folder: Path) -> Drain:
    """Drains into a new warehouse, and verifies that it accounts for every record."""
    settings = service_settings(task, folder, batch={"max_records": task.batch} if task.batch else {})
    began = time.perf_counter()
    with open_service(settings) as service:
        opening_seconds = time.perf_counter() - began
        with Stopwatch() as watch:
            service.drain()
    totals = verify(str(folder), task.events)
    began = time.perf_counter()
    with open_service(settings):
        reopening_seconds = time.perf_counter() - began
    commits = committed_at(str(folder))
    notes = {
        "opening_seconds": opening_seconds,
        "reopening_seconds": reopening_seconds,
        "totals": totals,
        FIRST_COMMIT: commits[0],
        "seconds_per_batch": [after - before for before, after in pairwise(commits)],
        "peak_bytes": {"python": peak_bytes(os.getpid()), "java": max(map(peak_bytes, descendants()))},
        "amplification": amplification(_written(folder)),
        "files": sum(1 for _ in folder.rglob("*.parquet")),
        "table_bytes": {table.name: _bytes_below(table) for table in folder.iterdir() if table.is_dir()},
    }
    return Drain(watch.seconds, watch.cpu_seconds, totals[PAGE_VIEWS.name], notes)


def _written(folder: Path) -> Counter[tuple[str, Purpose]]:
    """Returns the bytes ever committed to the tables, as far back as their logs go."""
    total = Traffic()
    for uri in [table for table in folder.iterdir() if is_table(str(table))]:
        total += traffic(DeltaTable(str(uri)), uri.name)
    return total.written


def amplification(written: Counter[tuple[str, Purpose]]) -> float:
    """Returns all written bytes divided by the bytes that the fold wrote."""
    own = sum(written[spec.name, Purpose.APPEND] for spec in (PANES, DEAD_LETTERS, EVENT_IDS))
    return sum(written.values()) / own if own else 0.0


def _bytes_below(table: Path) -> int:
    """Returns the bytes of a table on disk, including replaced files that are not deleted yet."""
    return sum(file.stat().st_size for file in table.rglob("*") if file.is_file())


if __name__ == "__main__":
    serve(drain, task_argument())
