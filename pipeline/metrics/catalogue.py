"""Every metric, once. `docs/metrics.md` tells people the same, and a test keeps the two together."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """The type of a metric, as Prometheus knows it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Step(StrEnum):
    """The steps of a batch whose duration is measured."""

    FOLD = "fold"
    WRITE_AHEAD = "write_ahead"
    COMMIT = "commit"
    PUBLISH = "publish"


class FailureKind(StrEnum):
    """The cause that made an attempt of the service fail, as far as the error tells; a failed query does not."""

    BROKER = "broker"
    STORE = "store"
    OTHER = "other"


class WindowEvent(StrEnum):
    """An event in the life of a window: its result was published, published again, or became final."""

    FIRED = "fired"
    REFIRED = "refired"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as it stands on the page; `unit` is the last word of its name, `buckets` are in that unit."""

    name: str
    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _counter(name: str, unit: str, meaning: str, *labels: str) -> Metric:
    return Metric(f"tidemark_{name}", Kind.COUNTER, unit, meaning, labels)


def _gauge(name: str, unit: str, meaning: str, *labels: str) -> Metric:
    return Metric(f"tidemark_{name}", Kind.GAUGE, unit, meaning, labels)


ATTEMPTS: Final = _counter("attempts_total", "attempts", "Openings of the service by this process, failed ones too.")
BATCH_DURATION: Final = Metric(
    "tidemark_batch_duration_seconds",
    Kind.HISTOGRAM,
    "seconds",
    "Wall time of a step of a batch.",
    ("step",),
    (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
BATCHES: Final = _counter("batches_total", "batches", "Batches committed, those without records included.")
DEAD_LETTERS: Final = _counter("dead_letters_total", "letters", "Records rejected, by reason.", "reason")
EPOCH: Final = _gauge("epoch", "", "Life of the writing process: one more at every start on a warehouse.")
FAILURES: Final = _counter("failures_total", "failures", "Attempts that failed, by what failed them.", "kind")
# Up to a day, so that a backlog still tells how old it is.
FRESHNESS: Final = Metric(
    "tidemark_freshness_seconds",
    Kind.HISTOGRAM,
    "seconds",
    "Time from a record's Kafka timestamp to the commit of its batch, one observation per record.",
    buckets=(0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 3600.0, 21600.0, 86400.0),
)
LAST_ERROR: Final = _gauge(
    "last_error_timestamp_seconds", "seconds", "When an attempt of the service last failed; absent before one has."
)
LOG_ENDS_TIME: Final = _gauge(
    "log_ends_timestamp_seconds", "seconds", "When the broker last told the log ends; lag is as of then."
)
OLDEST_WAITING: Final = _gauge(
    "oldest_unprocessed_age_seconds",
    "seconds",
    "Least time that the oldest uncommitted record has waited, 0 if none is known; decides about /readyz.",
)
PARTITION_COMMITTED: Final = _gauge(
    "partition_committed_offset", "offset", "Offset after the last committed record.", "partition"
)
PARTITION_IDLE: Final = _gauge(
    "partition_idle", "", "1 if the partition is idle and does not hold the watermark, else 0.", "partition"
)
PARTITION_LAG: Final = _gauge(
    "partition_lag_records", "records", "Offsets between the committed one and the log end.", "partition"
)
PARTITION_LOG_END: Final = _gauge(
    "partition_log_end_offset", "offset", "Offset after the last record on the broker.", "partition"
)
PARTITION_WATERMARK: Final = _gauge(
    "partition_watermark_timestamp_seconds",
    "seconds",
    "Where the partition alone would have the watermark; absent before there is anything that tells.",
    "partition",
)
PUBLICATION_FAILURES: Final = _counter(
    "publication_failures_total", "failures", "Publications that the store refused; each is tried again."
)
RECORDS: Final = _counter("records_total", "records", "Records committed, by verdict.", "verdict")
UNACCOUNTED: Final = _gauge(
    "unaccounted_records",
    "records",
    "Imbalance of the committed ledger rows since the start, summed without sign; anything but 0 is a defect.",
)
UNPUBLISHED: Final = _gauge("unpublished_batches", "batches", "Batches committed whose windows are not published yet.")
UNPUBLISHED_SINCE: Final = _gauge(
    "unpublished_since_timestamp_seconds", "seconds", "When the first of them was committed; absent without one."
)
UPKEEP_FAILURES: Final = _counter(
    "upkeep_failures_total", "failures", "Upkeeps that the store refused; each is left to the next one."
)
WATERMARK_LAG: Final = _gauge(
    "watermark_lag_seconds", "seconds", "Clock less watermark, at the scrape; absent before there is a watermark."
)
WATERMARK: Final = _gauge(
    "watermark_timestamp_seconds", "seconds", "The committed watermark; absent before there is one."
)
WINDOWS: Final = _counter(
    "windows_total", "windows", "Windows by what happened; a start publishes fired ones again.", "report", "event"
)

CATALOGUE: Final = (
    ATTEMPTS,
    BATCH_DURATION,
    BATCHES,
    DEAD_LETTERS,
    EPOCH,
    FAILURES,
    FRESHNESS,
    LAST_ERROR,
    LOG_ENDS_TIME,
    OLDEST_WAITING,
    PARTITION_COMMITTED,
    PARTITION_IDLE,
    PARTITION_LAG,
    PARTITION_LOG_END,
    PARTITION_WATERMARK,
    PUBLICATION_FAILURES,
    RECORDS,
    UNACCOUNTED,
    UNPUBLISHED,
    UNPUBLISHED_SINCE,
    UPKEEP_FAILURES,
    WATERMARK_LAG,
    WATERMARK,
    WINDOWS,
)
