"""Drains of one checkout, one for each line on standard input. Run as a file, in the folder and by the Python of any.

It goes by what every version has had: `benchmarks.ours.drain` and `benchmarks.task.Task`.
"""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))
DONE = "DONE "
"""With which the line begins that tells of a drain."""


def main() -> None:
    """Each line is the topic, and what else a task needs, as JSON; of each drain it tells seconds and CPU seconds."""
    from benchmarks.ours import drain  # noqa: PLC0415 - of the folder that this is run in
    from benchmarks.task import Task  # noqa: PLC0415

    for line in sys.stdin:
        task = Task(**json.loads(line))
        done = drain(task, Path(task.work))
        shutil.rmtree(task.work)
        sys.stdout.write(f"{DONE}{json.dumps([done.seconds, done.cpu_seconds])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
