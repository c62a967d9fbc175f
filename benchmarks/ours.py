"""Tidemark as a contestant: the service as anyone would open it, in a process of its own."""

import time
from pathlib import Path

from benchmarks.measure import Stopwatch
from benchmarks.settings import service_settings
from benchmarks.task import Drain, Task, serve
from benchmarks.verify import seconds_per_batch, verify
from pipeline.app import open_service
from pipeline.tables.schemas import PAGE_VIEWS


def drain(task: Task, folder: Path) -> Drain:
    """One drain into a fresh warehouse, and proof that it accounts for every record."""
    settings = service_settings(task, folder, batch={"max_records": task.batch} if task.batch else {})
    began = time.perf_counter()
    with open_service(settings) as service:
        opening_seconds = time.perf_counter() - began
        with Stopwatch() as watch:
            service.drain()
    totals = verify(str(folder), task.events)
    per_batch = seconds_per_batch(str(folder))
    notes = {"opening_seconds": opening_seconds, "totals": totals, "seconds_per_batch": per_batch}
    return Drain(watch.seconds, watch.cpu_seconds, totals[PAGE_VIEWS.name], notes)


if __name__ == "__main__":
    serve(drain)
