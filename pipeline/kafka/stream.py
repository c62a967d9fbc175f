"""The Structured Streaming query: its rows are the ranges of a batch, which `TopicRanges` reads.

The checkpoint is disposable: each query starts from the positions of the ledger with a new checkpoint, in a temporary
folder of the driver. Only the tables store state.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import structlog
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.kafka.clients import planner_options
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.runtime.connector import PLANNER
from tidemark.pipeline.runtime.spark_errors import cause_in
from tidemark.pipeline.settings.durations import milliseconds
from tidemark.pipeline.settings.model import BatchSettings, KafkaSettings

_log = structlog.get_logger()


@dataclass(slots=True)
class Stream:
    """Runs one query at a time over the topic."""

    spark: SparkSession
    kafka: KafkaSettings
    batch: BatchSettings
    on_batch: Callable[[TopicRanges], None]
    """Takes the ranges of a batch."""
    settling_ms: int = 0
    """See `Policy.settling_ms`."""
    _failure: Exception | None = None

    def drain(self, positions: Mapping[int, int], arrived: int | None = None) -> None:
        """Reads from `positions` to the current end of the topic; returns after the last batch.

        With `arrived`, the `until` of the last batch before, each batch is a span of arrival (see `TopicRanges.until`).
        The last one ends after the time of this call, for which it waits; an open transaction makes it end earlier.
        Raises what `on_batch` raised, or TransientError if the query failed for any other reason.
        """
        with tempfile.TemporaryDirectory(prefix="tidemark-") as checkpoint:
            writer = self._writer(positions, arrived, Path(checkpoint))
            self.wait(writer.trigger(availableNow=True).start(), None)

    def start(self, positions: Mapping[int, int], checkpoint: Path, arrived: int | None = None) -> StreamingQuery:
        """Starts a query without end; the caller waits for it and stops it between batches.

        With `arrived`, the `until` of the last batch before, each batch is a span of arrival (see `TopicRanges.until`).
        """
        interval = f"{milliseconds(self.batch.interval)} milliseconds"
        query: StreamingQuery = self._writer(positions, arrived, checkpoint).trigger(processingTime=interval).start()
        return query

    def wait(self, query: StreamingQuery, seconds: float | None) -> bool:
        """Waits; returns whether the query has ended. Raises what `on_batch` raised, TransientError if it failed."""
        try:
            # Its annotation is int, its body takes a float.
            ended = bool(query.awaitTermination(cast(int, seconds))) if seconds else query.awaitTermination() is None
        except StreamingQueryException as error:
            raise TransientError(f"the streaming query failed: {cause_in(str(error))}") from error
        if self._failure is not None:
            raise self._failure
        return ended

    def stop(self, query: StreamingQuery) -> None:
        """Stops a query. If that fails, its batches have no effect: the service is closed."""
        try:
            query.stop()
        except Exception as error:  # noqa: BLE001 - the reason to stop matters more
            _log.warning("query_not_stopped", reason=cause_in(str(error)))
            self.spark.sparkContext.setLogLevel("OFF")  # until the next start: it would log pages

    def _writer(self, positions: Mapping[int, int], arrived: int | None, checkpoint: Path) -> DataStreamWriter:
        self._failure = None
        ranges = self.spark.readStream.format(PLANNER)
        ranges = ranges.options(**planner_options(self.kafka, self.batch, positions, arrived, self.settling_ms))

        def each(planned: DataFrame, _: int) -> None:
            if self._failure is not None:
                return
            try:
                rows = planned.collect()
                starts, ends = ({row["partition"]: row[name] for row in rows} for name in ("from", "to"))
                self.on_batch(TopicRanges(self.spark, self.kafka, starts, ends, rows[0]["until"]))
            except Exception as error:  # noqa: BLE001 - `wait` raises it: Spark would print pages of Java
                self._failure = error

        writer = ranges.load().writeStream.foreachBatch(each)
        return writer.option("checkpointLocation", checkpoint.as_uri())
