"""Drains by a checkout, one for each line on standard input. Run as a file, in the folder and by the Python of it.

Uses only `benchmarks.ours.drain` and `benchmarks.task.Task`, which every version has.
"""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))
DONE = "DONE "
"""Prefix of the output line of a drain."""


def main() -> None:
    """Reads a task as JSON from each line, drains, and prints seconds and CPU seconds."""
    from benchmarks.ours import drain  # noqa: PLC0415 - of the current folder
    from benchmarks.task import Task  # noqa: PLC0415

    for line in sys.stdin:
        task = Task(**json.loads(line))
        done = drain(task, Path(task.work))
        shutil.rmtree(task.work)
        sys.stdout.write(f"{DONE}{json.dumps([done.seconds, done.cpu_seconds])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
