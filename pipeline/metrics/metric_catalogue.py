"""The definition of every metric; `make pages` writes them to `docs/metrics.md`."""

from enum import StrEnum
from functools import partial
from typing import Final

from tidemark.pipeline.metrics.metric import Metric, MetricKind


class Step(StrEnum):
    """The steps of a batch whose duration is measured."""

    FOLD = "fold"
    WRITE_AHEAD = "write_ahead"
    COMMIT = "commit"
    PUBLISH = "publish"


class FailureKind(StrEnum):
    """The cause of a failed attempt of the service: broker or store if the error shows it, else `other`."""

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
    "Attempts of this process to open the service, including failed attempts.",
    asks="How often did it restart from the ledger?",
    note="1, plus 1 for each attempt after a failure.",
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
BATCHES: Final = _counter("batches_total", "Batches committed, including those without records.", asks="Is it running?")
BOUND: Final = _gauge(
    "bound_seconds",
    "How far the watermark lags the newest event, or the clock, by the settings.",
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
CERTIFICATE_END: Final = _gauge(
    "certificate_end_timestamp_seconds",
    "When a configured certificate ends; absent if its file is not configured or cannot be read.",
    "use",
    asks="When does a certificate have to be renewed?",
    note="`kafka`: `kafka.tls.certificate`; `kafka_authorities`: the last of `kafka.tls.ca`; `metrics`: "
    "`metrics.certificate`. Not those of the brokers.",
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
    "Epoch of the writing process: increases by 1 with every start on a warehouse.",
    "warehouse",
    "warehouse_id",
    asks="Which process writes the warehouse now?",
    note="The service with the highest epoch writes it. Absent until it is open. Equal paths have different ids.",
)
FAILURES: Final = _counter(
    "failures_total",
    "Attempts that failed, by cause.",
    "kind",
    asks="What makes it restart?",
    note="`broker`: it did not answer or failed; `store`: it refused a table; `other`: also any failed query.",
)
# Up to a day, so that the age of a backlog is visible.
FRESHNESS: Final = Metric(
    "tidemark_freshness_seconds",
    MetricKind.HISTOGRAM,
    "Time from a record's Kafka timestamp to the commit of its batch, one observation per record.",
    (),
    "How old is a record when it is counted?",
    "Ages are rounded down: to 50 ms below ten seconds, to one part in eight above.",
    (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 3600.0, 21600.0, 86400.0),
)
LAST_COMMIT: Final = _gauge(
    "last_commit_timestamp_seconds",
    "When a batch was last committed; absent before the first commit.",
    asks="Since when has nothing been committed?",
)
LAST_ERROR: Final = _gauge(
    "last_error_timestamp_seconds",
    "When an attempt of the service last failed; absent before the first failure.",
    asks="When was the last outage?",
)
LAST_PUBLICATION: Final = _gauge(
    "last_publication_timestamp_seconds",
    "When windows were last published; absent before the first publication.",
    asks="Since when have the result tables not changed?",
)
LOG_ENDS_TIME: Final = _gauge(
    "log_ends_timestamp_seconds",
    "When the broker last reported the log ends; lag is as of then.",
    asks="How old is the reported record lag?",
    note="Asked at each scrape.",
)
OLDEST_WAITING: Final = _gauge(
    "oldest_unprocessed_age_seconds",
    "Least time that the oldest uncommitted record has waited, 0 if no record is known to wait; decides about /readyz.",
    asks="Does any record wait, and for how long?",
)
OPEN_WINDOWS: Final = _gauge(
    "open_windows",
    "Windows with events that are not closed.",
    "report",
    asks="How many windows may still change?",
    note="Not for reports of sessions or counts.",
)
PARTITION_COMMITTED: Final = _gauge(
    "partition_committed_offset",
    "Offset after the last committed record.",
    "partition",
    asks="How far is each partition counted?",
)
PARTITION_EARLIEST: Final = _gauge(
    "partition_earliest_offset",
    "Offset of the first record that the broker retains; unread records before it are lost.",
    "partition",
    asks="How much can be lost?",
)
PARTITION_HELD_BACK: Final = _gauge(
    "partition_held_back_records",
    "Offsets from the first open transaction to the log end, which cannot be read yet; part of the lag.",
    "partition",
    asks="Does an open transaction hold records back?",
)
PARTITION_IDLE: Final = _gauge(
    "partition_idle",
    "1 if the partition is idle and does not hold the watermark, else 0.",
    "partition",
    asks="Which partitions are idle?",
)
PARTITION_LAG: Final = _gauge(
    "partition_lag_records",
    "Offsets between the committed offset and the log end.",
    "partition",
    asks="How much waits to be read?",
    note="Transaction markers, compacted offsets and records of open transactions included.",
)
PARTITION_LOG_END: Final = _gauge(
    "partition_log_end_offset",
    "Offset after the last record on the broker, also if its transaction is open.",
    "partition",
    asks="How much arrives?",
)
PARTITION_WATERMARK: Final = _gauge(
    "partition_watermark_timestamp_seconds",
    "The watermark of the partition alone; absent before an event or marker determines it.",
    "partition",
    asks="Which partition holds the watermark?",
    note="By `time.strategy` its highest event time less the bound, that of its markers, or the clock less the lag.",
)
PUBLICATION_FAILURES: Final = _counter(
    "publication_failures_total",
    "Publications that the store refused; each is retried.",
    asks="Does the store refuse the result tables?",
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
    note="Without files that only older versions need.",
)
TABLE_JOBS: Final = _counter(
    "table_jobs_total",
    "Jobs on tables: the driver does small jobs, executors do large ones.",
    "job",
    "by",
    asks="Does large work go to the executors?",
    note="`spark.large` and `spark.large_from` define large. A publication is a job per group of windows.",
)
TABLE_REPLACED: Final = _counter(
    "table_replaced_bytes_total",
    "Bytes of data files that commits removed from a table, by purpose.",
    "table",
    "purpose",
    asks="How much is read and thrown away to keep the tables in order?",
    note="All but `append` have read what they replace. What a publication reads of `panes` is not counted.",
)
TABLE_ROWS: Final = _gauge(
    "table_rows",
    "Rows of a table.",
    "table",
    asks="How large is each table, and how large is the state?",
    note="The state is `panes`, of windows that are not closed, and with deduplication `event_ids`.",
)
TABLE_WRITTEN: Final = _counter(
    "table_written_bytes_total",
    "Bytes of data files that commits added to a table, by purpose.",
    "table",
    "purpose",
    asks="How often is a byte written again?",
    note="`append` is the output of the fold, `publication` results, `compaction` merges, `removal` erasures and "
    "retention. Bytes per event: "
    "`sum(rate(tidemark_table_written_bytes_total[1h])) / sum(rate(tidemark_records_total[1h]))`; write amplification: "
    "all purposes divided by `append` to `panes`, `dead_letters` and `event_ids`.",
)
UNACCOUNTED: Final = _gauge(
    "unaccounted_records",
    "Absolute imbalance of the committed ledger rows since the start; any value but 0 is a defect.",
    asks="Is every record accounted for?",
    note="Counts records without a verdict, and offsets that are neither record nor gap.",
)
UNPUBLISHED: Final = _gauge(
    "unpublished_batches", "Batches committed whose windows are not published yet.", asks="Does publication lag?"
)
UNPUBLISHED_SINCE: Final = _gauge(
    "unpublished_since_timestamp_seconds",
    "When the first unpublished batch was committed; absent without one.",
    asks="Since when does publication lag?",
)
UNSETTLED: Final = _counter(
    "unsettled_records_total",
    "Events that were not judged at their arrival; 0 if batches decide what is late.",
    asks="May another reading of the topic give other results?",
    note="They came after `time.settling`, were ahead of the clock, or were more than a batch within 200 ms.",
)
UPKEEP_FAILURES: Final = _counter(
    "upkeep_failures_total",
    "Runs of upkeep that the store refused; the next run does the work.",
    asks="Does the store refuse merges and cleaning?",
)
WAREHOUSE_FREE: Final = _gauge(
    "warehouse_free_bytes",
    "Free space of the file system of the warehouse, last known value; absent for other stores.",
    asks="When is the disk full?",
)
WAREHOUSE_SIZE: Final = _gauge(
    "warehouse_size_bytes",
    "Size of the file system of the warehouse; absent for other stores.",
    asks="How much of the disk is that?",
)
WATERMARK_LAG: Final = _gauge(
    "watermark_lag_seconds",
    "Clock minus watermark, at the scrape; absent without a watermark, and while all partitions are idle and hold it.",
    asks="How far do results lag the clock?",
    note="It grows while the service is stuck. The plain difference: `time() - tidemark_watermark_timestamp_seconds`.",
)
WATERMARK: Final = _gauge(
    "watermark_timestamp_seconds",
    "The committed watermark; absent before the first watermark.",
    asks="Up to which time are windows complete?",
)
WINDOWS: Final = _counter(
    "windows_total",
    "Windows by event; a start publishes fired windows again.",
    "report",
    "event",
    asks="Do windows fire, and how often do they fire again?",
    note="Not for reports of sessions or counts. A start publishes windows that have not closed as `refired`; a window "
    "that fires and changes before its publication counts as `fired`.",
)

_ALL: Final = [metric for metric in globals().values() if isinstance(metric, Metric)]
CATALOGUE: Final = tuple(sorted(_ALL, key=lambda metric: metric.name))
