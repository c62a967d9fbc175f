"""The common part of both contestants: drain, read back, compare."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.measure import Stopwatch
from benchmarks.peers.flink.check import WINDOWS, check
from benchmarks.peers.flink.cluster import Api, mini_cluster
from benchmarks.task import Drain, Task, serve
from tidemark.producers.truth import Truth


def compete(task: Task, api: Api) -> None:
    """Drains `task.drains` times on one mini-cluster. Raises BenchmarkError."""
    file = Path(task.truth)
    if not file.is_file():
        raise BenchmarkError(f"the truth file {file} does not exist; remove the folder of the backlog and start again")
    truth = Truth.load(file)
    with mini_cluster(task, api) as into:
        serve(lambda _, folder: _drain(into, folder, truth, task, api), task)


def _drain(into: Callable[[Path], int], folder: Path, truth: Truth, task: Task, api: Api) -> Drain:
    """Drains once, timed from the definition of the job to its end, when its last file is committed."""
    with Stopwatch() as watch:
        dropped = into(folder)
    others = task.keys.keys() - {WINDOWS}
    found = check(folder, truth, has_late_file=api == "datastream", others=others)
    return Drain(watch.seconds, watch.cpu_seconds, found["windows"], {"totals": found, "late_rows_dropped": dropped})
