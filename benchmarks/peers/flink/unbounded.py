"""Runs Flink on a topic that grows, in a process of its own, until it is killed."""

import json
import sys
from pathlib import Path
from typing import Final

from benchmarks.peers.flink.cluster import mini_cluster
from benchmarks.task import READY, Reports, Task

RESULT: Final = "result"
"""The folder of the results, in the work folder."""


def main() -> None:
    """Starts the cluster and the job: page views per user by the DataStream API, more reports by SQL.

    The checkpoint interval, in milliseconds, follows the task.
    """
    task, checkpoint_ms = Task(**json.loads(sys.argv[1])), int(sys.argv[2])
    work = Path(task.work).absolute()
    with mini_cluster(task, "datastream" if task.reports == Reports.ONE else "sql", checkpoint_ms) as into:
        (work / READY).touch()
        into(work / RESULT)


if __name__ == "__main__":
    main()
