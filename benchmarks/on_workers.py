"""Tidemark on a cluster: the service as `ours` has it, with executors on workers of one core each."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.ours import drain
from benchmarks.task import serve, told
from demo.standalone import CLOSED, HOST, standalone_cluster

_MEMORY: Final = "2g"


def main() -> None:
    """Starts the cluster from this process, so that the CPU of workers and executors is counted as its own."""
    task = told()
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
