"""Reads every metric from the state. Pure: `now` is an argument, all times are in milliseconds."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Final

from tidemark.pipeline.event_time.policy import REJECTED, AllIdle, Policy, Verdict
from tidemark.pipeline.event_time.watermark import PartitionState
from tidemark.pipeline.metrics import metric_catalogue as m
from tidemark.pipeline.metrics.histogram import Distribution
from tidemark.pipeline.metrics.metric import Metric
from tidemark.pipeline.metrics.service_state import ServiceState
from tidemark.pipeline.runtime.jobs import JobRunner, LargeJob

Labels = tuple[str, ...]
Reading = Mapping[Labels, float | Distribution]
"""Value by label values; empty while the metric has no value."""
Readings = dict[Metric, Reading]
_BUILD: Final = (version("tidemark-lake"), platform.python_version(), version("pyspark"), version("deltalake"))
"""The values of the labels of `BUILD`, in their order."""


def read(state: ServiceState, policy: Policy, warehouse: str, now: int) -> Readings:
    """Returns the readings of all metrics."""
    age_ms = state.backlog.oldest_age_ms(state.positions, now)
    readings: Readings = {
        m.ATTEMPTS: {(): state.attempts},
        m.BATCHES: {(): state.batches},
        m.BATCH_DURATION: {(step.value,): histogram.read() for step, histogram in state.steps.items()},
        m.BOUND: {(): policy.strategy.delay_ms / 1000},
        m.BUILD: {_BUILD: 1},
        m.CERTIFICATE_END: {(use,): end / 1000 for use, end in state.certificate_ends.items()},
        m.EPOCH: {} if state.epoch is None else {(warehouse, state.warehouse_id): state.epoch},
        m.FRESHNESS: {(): state.freshness.read()},
        m.LAST_COMMIT: _seconds(state.last_commit_at),
        m.LAST_ERROR: _seconds(state.last_error_at),
        m.LAST_PUBLICATION: _seconds(state.last_publication_at),
        m.LOG_ENDS_TIME: _seconds(state.log_ends_at),
        m.OLDEST_WAITING: {(): (age_ms or 0) / 1000},
        m.OPEN_WINDOWS: {(report,): count for report, count in state.open_windows.items()},
        m.PUBLICATION_FAILURES: {(): state.publication_failures},
        m.UNACCOUNTED: {(): state.unaccounted},
        m.UNPUBLISHED: {(): state.unpublished},
        m.UNPUBLISHED_SINCE: _seconds(state.unpublished_since),
        m.UNSETTLED: {(): state.unsettled},
        m.UPKEEP_FAILURES: {(): state.upkeep_failures},
        m.WATERMARK: _seconds(state.watermark),
        m.WATERMARK_LAG: _seconds(_watermark_lag(state, policy, now)),
    }
    return readings | _counts(state) | _partitions(state, policy, now) | _sizes(state)


def _if_known(value: float | None) -> Reading:
    return {} if value is None else {(): value}


def _seconds(milliseconds: int | None) -> Reading:
    return _if_known(None if milliseconds is None else milliseconds / 1000)


def _watermark_lag(state: ServiceState, policy: Policy, now: int) -> int | None:
    """Returns the lag in ms; None without a watermark, or while all partitions are idle and hold it."""
    quiet = all(partition.idle for partition in state.partitions.values())
    holds = quiet and policy.all_idle is AllIdle.HOLD and not policy.strategy.by_clock
    return None if state.watermark is None or holds else now - state.watermark


def _sizes(state: ServiceState) -> Readings:
    space = state.space
    return {
        m.TABLE_BYTES: {(name,): size.bytes for name, size in state.tables.items()},
        m.TABLE_FILES: {(name,): size.files for name, size in state.tables.items()},
        m.TABLE_REPLACED: {(name, purpose.value): size for (name, purpose), size in state.traffic.replaced.items()},
        m.TABLE_ROWS: {(name,): size.rows for name, size in state.tables.items()},
        m.TABLE_WRITTEN: {(name, purpose.value): size for (name, purpose), size in state.traffic.written.items()},
        m.WAREHOUSE_FREE: _if_known(space.free if space else None),
        m.WAREHOUSE_SIZE: _if_known(space.total if space else None),
    }


def _counts(state: ServiceState) -> Readings:
    """Returns a count for every label value from the start, so that `rate()` does not miss the first increase."""
    return {
        m.RECORDS: {(verdict.value,): state.verdicts[verdict] for verdict in Verdict},
        m.DEAD_LETTERS: {
            ("partly_late",): state.partly_late,
            **{(verdict.value,): state.verdicts[verdict] for verdict in REJECTED},
        },
        m.FAILURES: {(kind.value,): state.failures[kind] for kind in m.FailureKind},
        m.TABLE_JOBS: {(job.value, by.value): state.jobs[job, by] for job in LargeJob for by in JobRunner},
        m.WINDOWS: {
            (report, event.value): state.windows[report, event] for report in state.reports for event in m.WindowEvent
        },
    }


def _partitions(state: ServiceState, policy: Policy, now: int) -> Readings:
    partitions: dict[Labels, PartitionState] = {(str(name),): partition for name, partition in state.partitions.items()}
    strategy = policy.strategy
    watermarks = {labels: strategy.watermark(each.max_event_time, now) for labels, each in partitions.items()}
    offsets: list[dict[Labels, float]] = [
        {(str(partition),): float(offset) for partition, offset in each.items() if partition in state.partitions}
        for each in state.offsets
    ]
    earliest, readable_ends, ends = offsets
    return {
        m.PARTITION_COMMITTED: {labels: partition.position for labels, partition in partitions.items()},
        m.PARTITION_EARLIEST: earliest,
        m.PARTITION_HELD_BACK: {labels: max(0, ends[labels] - end) for labels, end in readable_ends.items()},
        m.PARTITION_IDLE: {labels: int(partition.idle) for labels, partition in partitions.items()},
        m.PARTITION_LAG: {labels: max(0, end - partitions[labels].position) for labels, end in ends.items()},
        m.PARTITION_LOG_END: ends,
        m.PARTITION_WATERMARK: {
            labels: watermark / 1000 for labels, watermark in watermarks.items() if watermark is not None
        },
    }
