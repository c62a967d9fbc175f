"""The contestants that drain the topic, with their settings."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from benchmarks.task import Reports

TEXTBOOK_BATCHES: Final = (6_000_000,)
"""The fastest of 1, 3, 6 and 12 M."""
_VARIED_AT: Final = 3_000_000
_ROCKSDB: Final = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # RocksDB needs the class of the local file system that Tidemark's session replaces to avoid a fork per file.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
}


ONE_REPORT: Final = "tidemark"
THREE_REPORTS: Final = "tidemark, three reports"


class Job(StrEnum):
    """The contestants; the value is the module of its process."""

    OURS = "benchmarks.ours"
    TUNED = "benchmarks.peers.tuned"
    DEFAULTS = "benchmarks.peers.defaults"
    FLINK_SQL = "benchmarks.peers.flink.sql"
    FLINK_DATASTREAM = "benchmarks.peers.flink.datastream"

    @property
    def option(self) -> str:
        """The name on the command line."""
        return self.name.lower().replace("_", "-")


FLINK: Final = frozenset({Job.FLINK_SQL, Job.FLINK_DATASTREAM})


@dataclass(frozen=True)
class Contestant:
    """A job with its settings; `batch` is the maximal number of records per batch, None for the job's default."""

    job: Job
    label: str
    batch: int | None = None
    conf: dict[str, str] = field(default_factory=dict)
    reports: Reports = Reports.ONE

    @property
    def title(self) -> str:
        """The name in tables."""
        return f"{self.label}, batches of {self.batch:,}" if self.batch else self.label


def contestants(
    jobs: Sequence[Job],
    textbook_batches: Sequence[int],
    our_batches: Sequence[int | None],
    *,
    textbook_variants: bool = False,
) -> list[Contestant]:
    """Returns the contestants of the chosen jobs."""
    by_job = {
        Job.TUNED: _tuned_contestants(textbook_batches) + (_variants(textbook_batches) if textbook_variants else []),
        Job.OURS: _ours(our_batches),
        Job.FLINK_SQL: [
            Contestant(Job.FLINK_SQL, "Flink, SQL"),
            Contestant(Job.FLINK_SQL, "Flink, SQL, three windows", reports=Reports.DEFAULT),
            Contestant(Job.FLINK_SQL, "Flink, SQL, ten windows", reports=Reports.SITE),
            Contestant(Job.FLINK_SQL, "Flink, SQL, eight windows", reports=Reports.ALL_KEYS),
        ],
        Job.FLINK_DATASTREAM: [
            Contestant(Job.FLINK_DATASTREAM, "Flink, DataStream"),
            Contestant(Job.FLINK_DATASTREAM, "Flink, DataStream, ten windows", reports=Reports.SITE),
        ],
        Job.DEFAULTS: _defaults(),
    }
    return [contestant for job in by_job if job in jobs for contestant in by_job[job]]


def _ours(batches: Sequence[int | None]) -> list[Contestant]:
    """Returns Tidemark with the peers' report, in each batch size, and with more reports."""
    return [
        *(Contestant(Job.OURS, ONE_REPORT, batch) for batch in batches),
        Contestant(Job.OURS, THREE_REPORTS, batches[0], reports=Reports.DEFAULT),
        Contestant(Job.OURS, "tidemark, ten reports", batches[0], reports=Reports.SITE),
        Contestant(Job.OURS, "tidemark, eight reports", batches[0], reports=Reports.ALL_KEYS),
        Contestant(Job.OURS, "tidemark, one report and those of a site", batches[0], reports=Reports.WITH_SITE),
    ]


def _defaults() -> list[Contestant]:
    return [Contestant(Job.DEFAULTS, "textbook, default settings")]


def _tuned_contestants(batches: Sequence[int]) -> list[Contestant]:
    return [Contestant(Job.TUNED, "textbook, tuned", batch) for batch in batches]


def _variants(batches: Sequence[int]) -> list[Contestant]:
    """Returns variants at one batch size: another state store, more task slots."""
    batch_of_variants = _VARIED_AT if _VARIED_AT in batches else batches[0]
    more_slots = {"spark.master": f"local[{4 * (os.cpu_count() or 1)}]"}
    return [
        Contestant(Job.TUNED, "textbook, tuned, RocksDB", batch_of_variants, _ROCKSDB),
        Contestant(Job.TUNED, f"textbook, tuned, {more_slots['spark.master']}", batch_of_variants, more_slots),
    ]
