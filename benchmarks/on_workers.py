"""Tidemark on a cluster: the service of `ours`, with executors on workers of one core each."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.ours import drain
from benchmarks.task import serve, task_argument
from demo.standalone import CLOSED, HOST, standalone_cluster

_MEMORY: Final = "2g"


def main() -> None:
    """Drains on a cluster that this process starts, so that the CPU of workers and executors counts as its own."""
    task = task_argument()
    with standalone_cluster(Path(task.work, "cluster"), task.workers, _MEMORY) as cluster:
        conf = {
            **CLOSED,
            "spark.master": cluster.url,
            "spark.driver.host": HOST,
            "spark.executor.memory": _MEMORY,
            "spark.sql.shuffle.partitions": str(task.workers),
        }
        serve(drain, replace(task, conf=conf))


if __name__ == "__main__":
    main()
