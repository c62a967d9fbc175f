"""The job of the Structured Streaming guide: watermark, window, append.

Source: Spark, "Structured Streaming Programming Guide", "Handling Late Data and Watermarking".
"""

from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.errors import BenchmarkError
from benchmarks.measure import Stopwatch
from benchmarks.peers.kafka_source import planned_ends
from benchmarks.task import FIRST_COMMIT, Drain, Task
from tidemark.pipeline.decoding.wire_format import FRAME_BYTES


def body() -> Column:
    """Returns a Kafka value without the Confluent frame."""
    return F.expr(f"substring(value, {FRAME_BYTES + 1})")


def page_views(events: DataFrame) -> DataFrame:
    """Returns visits and clicks per user and minute of events (event_type, user_id, event_time: timestamp)."""
    return windows_of(events.withWatermark("event_time", "10 seconds"))


def windows_of(events: DataFrame) -> DataFrame:
    """Like `page_views`, of events that have a watermark."""
    return (
        events.groupBy(F.window("event_time", "1 minute"), "user_id")
        .agg(
            F.count_if(F.col("event_type") == "visit").alias("page_views"),
            F.count_if(F.col("event_type") == "click").alias("clicks"),
        )
        .select("window.start", "window.end", "user_id", "page_views", "clicks")
    )


def drain(windows: DataFrame, task: Task, folder: Path) -> Drain:
    """Drains into a new table. Raises BenchmarkError if it did not read the whole topic."""
    table, checkpoint = folder / "page_views", folder / "checkpoint"
    writer = windows.writeStream.format("delta").outputMode("append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", checkpoint.as_uri())
    with Stopwatch() as watch:
        writer.start(str(table)).awaitTermination()
    if (read := _read(checkpoint, task.topic)) != task.events:
        raise BenchmarkError(f"the textbook job read {read} of {task.events} events")
    rows = DeltaTable(str(table)).to_pyarrow_dataset().count_rows()
    first = (checkpoint / "commits" / "0").stat().st_mtime
    return Drain(watch.seconds, watch.cpu_seconds, rows, {FIRST_COMMIT: first})


def _read(checkpoint: Path, topic: str) -> int:
    """Returns the number of records up to the offsets of the last completed batch."""
    last = max(int(commit.name) for commit in (checkpoint / "commits").glob("[0-9]*"))
    return sum(planned_ends(checkpoint, last, topic).values())
