"""A contestant's task and its answer: one JSON object each way."""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

FIRST_COMMIT: Final = "first_commit_at"
"""Among the notes of a drain: when its first batch was committed, in seconds since 1970."""


@dataclass(frozen=True)
class Task:
    """The topic, and how to read it. `batch` is the most records in a batch, None for no limit.

    `conf` are Spark properties beside those of the contestant; `work` is a folder of the process's own.
    """

    bootstrap_servers: str
    topic: str
    events: int
    work: str
    batch: int | None = None
    drains: int = 3
    conf: dict[str, str] = field(default_factory=dict)
    all_reports: bool = False
    """Every report that the service has out of the box, and not page views per user alone, which the peers do."""
    window: dict[str, Any] = field(default_factory=dict)
    """The settings of the windows of page views per user, where it is not those of the service."""
    workers: int = 0
    """Of a cluster of its own, where the process makes one."""
    deduplicate: str = "off"
    truth: str = ""
    """The file that says what was sent, for those who are held against it."""

    def to_json(self) -> str:
        """For the command line of the process."""
        return json.dumps(asdict(self))

    @property
    def result(self) -> Path:
        """Where the process writes its drains."""
        return Path(self.work, "result.json")


@dataclass(frozen=True)
class Drain:
    """One drain of the whole topic. `cpu_seconds` are of the process and its JVM, the broker's not included.

    `window_rows` is the size of the result; `notes` are what only this contestant has to tell.
    """

    seconds: float
    cpu_seconds: float
    window_rows: int
    notes: dict[str, Any] = field(default_factory=dict)


def told() -> Task:
    """The task on the command line."""
    return Task(**json.loads(sys.argv[1]))


def serve(drain: Callable[[Task, Path], Drain], task: Task) -> None:
    """Drain as often as the task says, each time into a fresh folder."""
    drains = []
    for number in range(task.drains):
        folder = Path(task.work, f"drain-{number}").absolute()
        drains.append(asdict(drain(task, folder)))
        shutil.rmtree(folder)
    task.result.write_text(json.dumps(drains))


def read_drains(task: Task) -> list[Drain]:
    """The answer that the process of a task wrote."""
    return [Drain(**drain) for drain in json.loads(task.result.read_text())]
