"""Every metric, once; `make pages` makes the table of `docs/metrics.md` of it."""

from enum import StrEnum
from functools import partial
from typing import Final

from pipeline.metrics.metric import Metric, MetricKind


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


def _metric(kind: MetricKind, name: str, meaning: str, *labels: str, asks: str, note: str = "") -> Metric:
    return Metric(f"tidemark_{name}", kind, meaning, labels, asks, note)


_counter, _gauge = partial(_metric, MetricKind.COUNTER), partial(_metric, MetricKind.GAUGE)
ATTEMPTS: Final = _counter(
    "attempts_total",
    "Openings of the service by this process, failed ones too.",
    asks="How often did it start again from the ledger?",
    note="One, and one more for each attempt after a failure.",
)
BATCH_DURATION: Final = Metric(
    "tidemark_batch_duration_seconds",
    MetricKind.HISTOGRAM,
    "Wall time of a step of a batch.",
    ("step",),
    "Which step takes the time?",
    "Steps of neighbouring batches overlap, so their sum is not the time from batch to batch.",
    (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
BATCHES: Final = _counter("batches_total", "Batches committed, those without records included.", asks="Is it at work?")
BOUND: Final = _gauge(
    "bound_seconds",
    "How far the watermark is behind the newest event, or the clock, by the settings.",
    asks="How much watermark lag is wanted?",
    note="`time.bound`, or with `time_lag` `time.lag`.",
)
BUILD: Final = _gauge(
    "build_info",
    "1; its labels are the versions of Tidemark, Python, PySpark and delta-rs.",
    "version",
    "python",
    "pyspark",
    "deltalake",
    asks="Which version runs where?",
)
DEAD_LETTERS: Final = _counter(
    "dead_letters_total",
    "Records rejected, by reason.",
    "reason",
    asks="How much was too late, malformed or from the future?",
    note="`partly_late` are counted records that missed some of their windows. All are rows of `dead_letters`.",
)
EPOCH: Final = _gauge(
    "epoch",
    "Life of the writing process: one more at every start on a warehouse.",
    "warehouse",
    asks="Who writes the warehouse now?",
    note="Of several on one warehouse the highest writes. Absent until the service has opened it.",
)
FAILURES: Final = _counter(
    "failures_total",
    "Attempts that failed, by what failed them.",
    "kind",
    asks="What makes it start again?",
    note="`broker` did not answer or could not, `store` refused a table; a failed query does not tell: `other`.",
)
# Up to a day, so that a backlog still tells how old it is.
FRESHNESS: Final = Metric(
    "tidemark_freshness_seconds",
    MetricKind.HISTOGRAM,
    "Time from a record's Kafka timestamp to the commit of its batch, one observation per record.",
    (),
    "How old is a record when it counts?",
    "Ages are rounded down: to 50 ms below ten seconds, to one part in eight above.",
    (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 3600.0, 21600.0, 86400.0),
)
LAST_COMMIT: Final = _gauge(
    "last_commit_timestamp_seconds",
    "When a batch was last committed; absent before one was.",
    asks="Since when has nothing been committed?",
)
LAST_ERROR: Final = _gauge(
    "last_error_timestamp_seconds",
    "When an attempt of the service last failed; absent before one has.",
    asks="When was the last outage?",
)
LAST_PUBLICATION: Final = _gauge(
    "last_publication_timestamp_seconds",
    "When windows were last published; absent before any were.",
    asks="Since when have the result tables not changed?",
)
LOG_ENDS_TIME: Final = _gauge(
    "log_ends_timestamp_seconds",
    "When the broker last told the log ends; lag is as of then.",
    asks="How old is what the page says of record lag?",
    note="Asked at each scrape; while the broker is silent, this and the log ends stand still.",
)
OLDEST_WAITING: Final = _gauge(
    "oldest_unprocessed_age_seconds",
    "Least time that the oldest uncommitted record has waited, 0 if none is known; decides about /readyz.",
    asks="Does any record wait, and for how long?",
)
OPEN_WINDOWS: Final = _gauge(
    "open_windows",
    "Windows with events that are not closed.",
    "report",
    asks="How many windows may still change?",
    note="Of reports whose windows end by the clock (not sessions and counts).",
)
PARTITION_COMMITTED: Final = _gauge(
    "partition_committed_offset",
    "Offset after the last committed record.",
    "partition",
    asks="How far is each partition counted?",
)
PARTITION_IDLE: Final = _gauge(
    "partition_idle",
    "1 if the partition is idle and does not hold the watermark, else 0.",
    "partition",
    asks="Which partitions are silent?",
)
PARTITION_LAG: Final = _gauge(
    "partition_lag_records",
    "Offsets between the committed one and the log end.",
    "partition",
    asks="How much waits to be read?",
    note="Transaction markers and compacted offsets included.",
)
PARTITION_LOG_END: Final = _gauge(
    "partition_log_end_offset",
    "Offset after the last record on the broker.",
    "partition",
    asks="How much comes in?",
)
PARTITION_WATERMARK: Final = _gauge(
    "partition_watermark_timestamp_seconds",
    "Where the partition alone would have the watermark; absent before there is anything that tells.",
    "partition",
    asks="Which partition holds the watermark?",
    note="By `time.strategy` its highest event time less the bound, that of its markers, or the clock less the lag.",
)
PUBLICATION_FAILURES: Final = _counter(
    "publication_failures_total",
    "Publications that the store refused; each is tried again.",
    asks="Does the store refuse the result tables?",
    note="What falls due meanwhile waits behind it.",
)
RECORDS: Final = _counter(
    "records_total",
    "Records committed, by verdict.",
    "verdict",
    asks="How many events a second are counted, and how many rejected?",
)
TABLE_BYTES: Final = _gauge(
    "table_bytes", "Size of a table's live files.", "table", asks="Which table takes the space?"
)
TABLE_FILES: Final = _gauge(
    "table_files",
    "Live files of a table.",
    "table",
    asks="Does upkeep keep the number of files small?",
    note="Rows, bytes and files are taken by upkeep: after the first batch of a start and every hundred batches. "
    "Files that only older versions need are not among them.",
)
TABLE_JOBS: Final = _counter(
    "table_jobs_total",
    "Jobs on tables, which the driver does where they are small, and executors where they are large.",
    "job",
    "by",
    asks="Does large work go to the executors?",
    note="`spark.large` and `spark.large_from` say what is large. A publication is a job for some windows at a time.",
)
TABLE_REPLACED: Final = _counter(
    "table_replaced_bytes_total",
    "Bytes of data files that commits took out of a table, by what they were for.",
    "table",
    "purpose",
    asks="How much is read and thrown away to keep the tables in order?",
    note="A commit of `compaction`, `publication` or `removal` has read what it replaces. What a publication reads of "
    "`panes` stays there and is not among it.",
)
TABLE_ROWS: Final = _gauge(
    "table_rows",
    "Rows of a table.",
    "table",
    asks="How large is each table, and how much state is held?",
    note="`panes` is the state: partial counts of windows that are not closed, and void rows. So is `event_ids`, "
    "where events are deduplicated.",
)
TABLE_WRITTEN: Final = _counter(
    "table_written_bytes_total",
    "Bytes of data files that commits added to a table, by what they were for.",
    "table",
    "purpose",
    asks="How often is a byte written again?",
    note="Taken from the tables' logs by upkeep, so a counter moves after the first batch of a start and every hundred "
    "batches. `append` to `panes`, `dead_letters` and `event_ids` is what the fold gives; `publication` are results, "
    "`compaction` merges, `removal` erasures and what went by age. Bytes per event: "
    "`sum(rate(tidemark_table_written_bytes_total[1h])) / sum(rate(tidemark_records_total[1h]))`; write amplification: "
    "all of it over what the fold gives.",
)
UNACCOUNTED: Final = _gauge(
    "unaccounted_records",
    "Imbalance of the committed ledger rows since the start, summed without sign; anything but 0 is a defect.",
    asks="Is every record accounted for?",
    note="Records without a verdict, and offsets that are neither record nor gap.",
)
UNPUBLISHED: Final = _gauge(
    "unpublished_batches",
    "Batches committed whose windows are not published yet.",
    asks="Is publication behind?",
)
UNPUBLISHED_SINCE: Final = _gauge(
    "unpublished_since_timestamp_seconds",
    "When the first of them was committed; absent without one.",
    asks="Since when is publication behind?",
)
UPKEEP_FAILURES: Final = _counter(
    "upkeep_failures_total",
    "Upkeeps that the store refused; each is left to the next one.",
    asks="Does the store refuse merges and cleaning?",
)
WAREHOUSE_FREE: Final = _gauge(
    "warehouse_free_bytes",
    "Free space of the file system of the warehouse; absent for other stores.",
    asks="When is the disk full?",
)
WAREHOUSE_SIZE: Final = _gauge(
    "warehouse_size_bytes",
    "Size of the file system of the warehouse; absent for other stores.",
    asks="How much of the disk is that?",
)
WATERMARK_LAG: Final = _gauge(
    "watermark_lag_seconds",
    "Clock less watermark, at the scrape; absent while there is no watermark, and while all partitions hold it idle.",
    asks="How far are results behind the clock?",
    note="It grows while the service is stuck. On a topic where nothing comes in no result waits, so it is absent "
    "there; the plain difference is `time() - tidemark_watermark_timestamp_seconds`.",
)
WATERMARK: Final = _gauge(
    "watermark_timestamp_seconds",
    "The committed watermark; absent before there is one.",
    asks="Up to which time are windows complete?",
)
WINDOWS: Final = _counter(
    "windows_total",
    "Windows by what happened; a start publishes fired ones again.",
    "report",
    "event",
    asks="Do windows fire, and how often are they fired again?",
    note="Of reports whose windows end by the clock (not sessions and counts). A start publishes all that have fired "
    "and not closed once more, which counts as `refired`; a window that fires and changes before its publication "
    "counts once, as `fired`.",
)

_ALL: Final = [it for it in globals().values() if isinstance(it, Metric)]
CATALOGUE: Final = tuple(sorted(_ALL, key=lambda metric: metric.name))
