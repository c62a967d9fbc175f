"""Who drains the topic, and how."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

TEXTBOOK_BATCHES: Final = (6_000_000,)
"""Of 1, 3, 6 and 12 M the one with which it is fastest."""
_VARIED_AT: Final = 3_000_000
_ROCKSDB: Final = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # It casts the local file system to the class that Tidemark's session replaces, to spare a fork per file.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
}


ONE_REPORT: Final = "tidemark"
ALL_REPORTS: Final = "tidemark, three reports"


class Job(StrEnum):
    """The contestants; the value is the module of its process."""

    OURS = "benchmarks.ours"
    TUNED = "benchmarks.peers.tuned"
    DEFAULTS = "benchmarks.peers.defaults"
    FLINK_SQL = "benchmarks.peers.flink.sql"
    FLINK_DATASTREAM = "benchmarks.peers.flink.datastream"

    @property
    def option(self) -> str:
        """As it is written on the command line."""
        return self.name.lower().replace("_", "-")


FLINK: Final = frozenset({Job.FLINK_SQL, Job.FLINK_DATASTREAM})


@dataclass(frozen=True)
class Contestant:
    """A job with its settings; `batch` is the most records in a batch, None for what the job does by itself."""

    job: Job
    label: str
    batch: int | None = None
    conf: dict[str, str] = field(default_factory=dict)
    all_reports: bool = False

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.label}, batches of {self.batch:,}" if self.batch else self.label


def contestants(
    jobs: Sequence[Job],
    textbook_batches: Sequence[int],
    our_batches: Sequence[int | None],
    *,
    textbook_variants: bool = False,
) -> list[Contestant]:
    """Everyone of the chosen jobs."""
    found = {
        Job.TUNED: _tuned(textbook_batches) + (_variants(textbook_batches) if textbook_variants else []),
        Job.OURS: _ours(our_batches),
        Job.FLINK_SQL: [Contestant(Job.FLINK_SQL, "Flink, SQL")],
        Job.FLINK_DATASTREAM: [Contestant(Job.FLINK_DATASTREAM, "Flink, DataStream")],
        Job.DEFAULTS: _defaults(),
    }
    return [contestant for job in found if job in jobs for contestant in found[job]]


def _ours(batches: Sequence[int | None]) -> list[Contestant]:
    """The work that the peers do, too, and all reports out of the box."""
    return [
        *(Contestant(Job.OURS, ONE_REPORT, batch) for batch in batches),
        Contestant(Job.OURS, ALL_REPORTS, batches[0], all_reports=True),
    ]


def _defaults() -> list[Contestant]:
    return [Contestant(Job.DEFAULTS, "textbook, default settings")]


def _tuned(batches: Sequence[int]) -> list[Contestant]:
    return [Contestant(Job.TUNED, "textbook, tuned", batch) for batch in batches]


def _variants(batches: Sequence[int]) -> list[Contestant]:
    """At one size, with what else might help it: another state store, more task slots."""
    varied = _VARIED_AT if _VARIED_AT in batches else batches[0]
    more_slots = {"spark.master": f"local[{4 * (os.cpu_count() or 1)}]"}
    return [
        Contestant(Job.TUNED, "textbook, tuned, RocksDB", varied, _ROCKSDB),
        Contestant(Job.TUNED, f"textbook, tuned, {more_slots['spark.master']}", varied, more_slots),
    ]
