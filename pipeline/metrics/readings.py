"""The reading of every metric at a moment. Pure: `now` is an argument, all times in milliseconds."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Final

from pipeline.event_time.policy import REJECTED, AllIdle, Policy, Verdict
from pipeline.event_time.watermark import PartitionState
from pipeline.metrics import metric_catalogue as m
from pipeline.metrics.histogram import Distribution
from pipeline.metrics.metric import Metric
from pipeline.metrics.service_state import Totals
from pipeline.runtime.disk import Space
from pipeline.runtime.jobs import By, Job

Labels = tuple[str, ...]
Reading = Mapping[Labels, float | Distribution]
"""By label values; an empty one has no value yet."""
Readings = dict[Metric, Reading]
_BUILD: Final = (version("tidemark-lake"), platform.python_version(), version("pyspark"), version("deltalake"))
"""As the labels of the metric have the versions."""


def read(totals: Totals, policy: Policy, warehouse: str, space: Space | None, now: int) -> Readings:
    """All metrics at once."""
    age_ms = totals.backlog.oldest_age_ms(totals.positions, now)
    readings: Readings = {
        m.ATTEMPTS: {(): totals.attempts},
        m.BATCHES: {(): totals.batches},
        m.BATCH_DURATION: {(step.value,): histogram.read() for step, histogram in totals.steps.items()},
        m.BOUND: {(): policy.strategy.idle_lag_ms / 1000},
        m.BUILD: {_BUILD: 1},
        m.EPOCH: {} if totals.epoch is None else {(warehouse,): totals.epoch},
        m.FRESHNESS: {(): totals.freshness.read()},
        m.LAST_COMMIT: _seconds(totals.last_commit_at),
        m.LAST_ERROR: _seconds(totals.last_error_at),
        m.LAST_PUBLICATION: _seconds(totals.last_publication_at),
        m.LOG_ENDS_TIME: _seconds(totals.log_ends_at),
        m.OLDEST_WAITING: {(): (age_ms or 0) / 1000},
        m.OPEN_WINDOWS: {(report,): count for report, count in totals.open_windows.items()},
        m.PUBLICATION_FAILURES: {(): totals.publication_failures},
        m.UNACCOUNTED: {(): totals.unaccounted},
        m.UNPUBLISHED: {(): totals.unpublished},
        m.UNPUBLISHED_SINCE: _seconds(totals.unpublished_since),
        m.UPKEEP_FAILURES: {(): totals.upkeep_failures},
        m.WATERMARK: _seconds(totals.watermark),
        m.WATERMARK_LAG: _seconds(_watermark_lag(totals, policy, now)),
    }
    return readings | _counts(totals) | _partitions(totals, policy, now) | _sizes(totals, space)


def _if_known(value: float | None) -> Reading:
    return {} if value is None else {(): value}


def _seconds(milliseconds: int | None) -> Reading:
    return _if_known(None if milliseconds is None else milliseconds / 1000)


def _watermark_lag(totals: Totals, policy: Policy, now: int) -> int | None:
    """None also where nothing comes in, so that there is nothing that the watermark could be behind."""
    quiet = all(state.idle for state in totals.partitions.values())
    holds = quiet and policy.all_idle is AllIdle.HOLD and not policy.strategy.by_clock
    return None if totals.watermark is None or holds else now - totals.watermark


def _sizes(totals: Totals, space: Space | None) -> Readings:
    return {
        m.TABLE_BYTES: {(name,): size.bytes for name, size in totals.tables.items()},
        m.TABLE_FILES: {(name,): size.files for name, size in totals.tables.items()},
        m.TABLE_REPLACED: {(name, purpose.value): size for (name, purpose), size in totals.traffic.replaced.items()},
        m.TABLE_ROWS: {(name,): size.rows for name, size in totals.tables.items()},
        m.TABLE_WRITTEN: {(name, purpose.value): size for (name, purpose), size in totals.traffic.written.items()},
        m.WAREHOUSE_FREE: _if_known(space.free if space else None),
        m.WAREHOUSE_SIZE: _if_known(space.total if space else None),
    }


def _counts(totals: Totals) -> Readings:
    """Every label value from the start, so that the first increase is not lost to `rate()`."""
    return {
        m.RECORDS: {(verdict.value,): totals.verdicts[verdict] for verdict in Verdict},
        m.DEAD_LETTERS: {
            ("partly_late",): totals.partly_late,
            **{(verdict.value,): totals.verdicts[verdict] for verdict in REJECTED},
        },
        m.FAILURES: {(kind.value,): totals.failures[kind] for kind in m.FailureKind},
        m.TABLE_JOBS: {(job.value, by.value): totals.jobs[job, by] for job in Job for by in By},
        m.WINDOWS: {
            (report, event.value): totals.windows[report, event] for report in totals.reports for event in m.WindowEvent
        },
    }


def _partitions(totals: Totals, policy: Policy, now: int) -> Readings:
    states: dict[Labels, PartitionState] = {(str(number),): state for number, state in totals.partitions.items()}
    watermarks = {labels: policy.strategy.watermark(state.max_event_time, now) for labels, state in states.items()}
    known: dict[Labels, float] = {
        (str(number),): end for number, end in totals.log_ends.items() if number in totals.partitions
    }
    return {
        m.PARTITION_COMMITTED: {labels: state.position for labels, state in states.items()},
        m.PARTITION_IDLE: {labels: int(state.idle) for labels, state in states.items()},
        m.PARTITION_LAG: {labels: max(0, end - states[labels].position) for labels, end in known.items()},
        m.PARTITION_LOG_END: known,
        m.PARTITION_WATERMARK: {
            labels: watermark / 1000 for labels, watermark in watermarks.items() if watermark is not None
        },
    }
