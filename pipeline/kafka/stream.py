"""The Structured Streaming query: Spark plans the offsets and distributes the read, the service decides the rest.

The checkpoint is disposable. Each query takes a new one and starts from positions that the ledger knows, so it lives in
a temporary folder of the driver; the tables are the only memory.
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import structlog
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from pipeline.errors import TransientError
from pipeline.kafka.clients import source_options
from pipeline.settings.durations import milliseconds
from pipeline.settings.model import BatchSettings, KafkaSettings

_log = structlog.get_logger()


@dataclass(slots=True)
class Stream:
    """Runs one query at a time over the topic."""

    spark: SparkSession
    kafka: KafkaSettings
    batch: BatchSettings
    on_batch: Callable[[DataFrame, Mapping[int, int]], None]
    """Takes a batch's records, and the offset (exclusive) up to which each partition is read."""
    _failure: Exception | None = None

    def drain(self, positions: Mapping[int, int]) -> None:
        """Reads from `positions` to the end of the topic as it is now; returns after the last batch.

        Raises what `on_batch` raised, or TransientError if the query failed for a reason of its own.
        """
        with tempfile.TemporaryDirectory(prefix="tidemark-") as checkpoint:
            writer = self._writer(positions, Path(checkpoint))
            self.wait(writer.trigger(availableNow=True).start(), None)

    def start(self, positions: Mapping[int, int], checkpoint: Path) -> StreamingQuery:
        """Reads on and on; the caller waits for the query and stops it between batches."""
        interval = f"{milliseconds(self.batch.interval)} milliseconds"
        query: StreamingQuery = self._writer(positions, checkpoint).trigger(processingTime=interval).start()
        return query

    def wait(self, query: StreamingQuery, seconds: float | None) -> bool:
        """Whether the query has ended; raises what `on_batch` raised, or what made the query fail."""
        try:
            # Its annotation says int, its body takes a float.
            ended = bool(query.awaitTermination(cast(int, seconds))) if seconds else query.awaitTermination() is None
        except StreamingQueryException as error:
            raise TransientError(f"the streaming query failed: {_first_line(error)}") from error
        if self._failure is not None:
            raise self._failure
        return ended

    def stop(self, query: StreamingQuery) -> None:
        """Ends a query; one that cannot be ended brings nothing any more, for its service is closed."""
        try:
            query.stop()
        except Exception as error:  # noqa: BLE001 - Spark raises what it likes, and the reason to stop matters more
            _log.warning("streaming_query_did_not_stop", reason=_first_line(error))
            self.spark.sparkContext.setLogLevel("OFF")  # until the next start: its last words would be pages

    def _writer(self, positions: Mapping[int, int], checkpoint: Path) -> DataStreamWriter:
        self._failure = None
        records = self.spark.readStream.format("kafka")
        records = records.options(**source_options(self.kafka, self.batch, positions))

        def each(frame: DataFrame, number: int) -> None:
            if self._failure is not None:
                return
            try:
                self.on_batch(frame, planned_ends(checkpoint, number, self.kafka.topic))
            except Exception as error:  # noqa: BLE001 - kept for `wait`: Spark would print pages of Java around it
                self._failure = error

        writer = records.load().writeStream.foreachBatch(each)
        return writer.option("checkpointLocation", checkpoint.as_uri())


def planned_ends(checkpoint: Path, number: int, topic: str) -> dict[int, int]:
    """The offset (exclusive) up to which each partition is read in the query's batch `number`.

    Spark writes it to the checkpoint's offset log before the batch runs, and nowhere else: neither `observe()` nor the
    progress report would do, for both come after the batch, and count re-executions.
    Source of the format: Spark, `OffsetSeqLog`: a version line, a line of metadata, then a line per source.
    """
    source = (checkpoint / "offsets" / str(number)).read_text().splitlines()[2]
    return {int(partition): offset for partition, offset in json.loads(source)[topic].items()}


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
