"""A contestant's task and its results, both passed as JSON."""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import chain, combinations
from pathlib import Path
from typing import Any, Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import KEYS
from tidemark.pipeline.settings.report_settings import DEFAULT_REPORTS
from tidemark.pipeline.tables.schemas import PAGE_VIEWS

FIRST_COMMIT: Final = "first_commit_at"
"""Note of a drain: when its first batch was committed, in seconds since 1970."""
READY: Final = "ready"
"""The file that a process which does not end writes to its work folder once it has started."""


_OF_A_SITE: Final = (
    *((c.EVENT_TYPE,), ("referrer",), ("user_agent",), ("element_id",)),
    *((c.PAGE_URL, c.EVENT_TYPE), ("element_id", c.PAGE_URL), ("user_agent", c.EVENT_TYPE)),
)
"""Keys of reports in addition to the default reports."""


class Reports(StrEnum):
    """The results of a contestant."""

    ONE = "one"
    """Page views per user."""
    DEFAULT = "three"
    """The default reports: by user, by page, and of the site."""
    SITE = "ten"
    """Ten reports of a site, by six fields and some pairs of them."""
    ALL_KEYS = "eight"
    """One report for each set of the three keys."""
    WITH_SITE = "site"
    """Page views per user, and the reports that `[site]` adds."""

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of each report by its name."""
        match self:
            case Reports.ONE | Reports.WITH_SITE:
                return {PAGE_VIEWS.name: DEFAULT_REPORTS[PAGE_VIEWS.name].keys}
            case Reports.DEFAULT:
                return {name: report.keys for name, report in DEFAULT_REPORTS.items()}
            case Reports.SITE:
                return Reports.DEFAULT.keys | {f"by_{'_and_'.join(keys)}": keys for keys in _OF_A_SITE}
            case Reports.ALL_KEYS:
                others = chain.from_iterable(combinations(KEYS, count) for count in range(len(KEYS) + 1))
                return Reports.ONE.keys | {"_".join(("sums", *keys)): keys for keys in others if keys != (c.USER_ID,)}


@dataclass(frozen=True)
class Task:
    """A topic to drain. `batch` is the maximal number of records per batch, None for no limit.

    `conf` are Spark properties in addition to those of the contestant; `work` is the folder of the process.
    """

    bootstrap_servers: str
    topic: str
    events: int
    work: str
    batch: int | None = None
    drains: int = 3
    conf: dict[str, str] = field(default_factory=dict)
    reports: Reports = Reports.ONE
    window: dict[str, Any] = field(default_factory=dict)
    """Settings of the windows of page views per user; empty: those of the service."""
    workers: int = 0
    """Number of workers of the cluster, for a process that starts a cluster."""
    deduplicate: str = "off"
    format: str = "avro"
    """The format of the events, as in the settings."""
    truth: str = ""
    """Path of the truth file, for contestants that are compared with it."""

    def to_json(self) -> str:
        """Returns the task as an argument of the process."""
        return json.dumps(asdict(self))

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of each report by its name; in a task that was JSON the reports are their name."""
        return Reports(self.reports).keys

    @property
    def result(self) -> Path:
        """The file to which the process writes its drains."""
        return Path(self.work, "result.json")


@dataclass(frozen=True)
class Drain:
    """A drain of the whole topic. `cpu_seconds` are of the process and its JVM, without the broker.

    `window_rows` is the number of rows of the result; `notes` are figures of this contestant only.
    """

    seconds: float
    cpu_seconds: float
    window_rows: int
    notes: dict[str, Any] = field(default_factory=dict)


def task_argument() -> Task:
    """Returns the task from the command line."""
    return Task(**json.loads(sys.argv[1]))


def serve(drain: Callable[[Task, Path], Drain], task: Task) -> None:
    """Drains `task.drains` times, each time into a new folder, and writes the results."""
    drains = []
    for number in range(task.drains):
        folder = Path(task.work, f"drain-{number}").absolute()
        drains.append(asdict(drain(task, folder)))
        shutil.rmtree(folder)
    task.result.write_text(json.dumps(drains))


def read_drains(task: Task) -> list[Drain]:
    """Returns the drains that the process of a task wrote."""
    return [Drain(**drain) for drain in json.loads(task.result.read_text())]
