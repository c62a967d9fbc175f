"""The textbook job of Structured Streaming as a contestant of the duel, with a Delta table as its sink."""

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from benchmarks.duel.contestant import Contestant
from benchmarks.duel.scenario import Cell, Kind
from benchmarks.duel.tables import delta_cells
from benchmarks.peers.delta import JAR_SETS, TUNED
from benchmarks.peers.textbook import body, windows_of
from tidemark.pipeline.kafka.clients import consumer_options
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import KafkaSettings, SparkSettings
from tidemark.schemas import WRITER_ID, load_schemas


class Textbook(Contestant):
    """Watermark, deduplication, window, append."""

    name = "textbook"
    title = "Spark, textbook job"
    options = (
        "withWatermark 10 s, dropDuplicatesWithinWatermark(event_id), append to Delta, checkpoint, read_committed, "
        "from_avro in mode PERMISSIVE, trigger 1 s, Tidemark's session; idle partitions: no option, because "
        "the watermark is one maximum over all partitions"
    )

    def command(self) -> list[str]:
        """Returns this module as a process."""
        arena = self.arena
        return [sys.executable, "-m", __name__, arena.bootstrap_servers, arena.topic, str(arena.folder)]

    def table(self) -> Mapping[Cell, int]:
        """Returns the rows of the Delta table."""
        return delta_cells(str(self.arena.folder / "page_views"))

    def said(self) -> Counter[Kind]:
        """Returns no record: late rows are a metric, and malformed ones are rows of nulls."""
        return Counter()


def main(bootstrap_servers: str, topic: str, folder: str) -> None:
    """Runs the job until the process is killed."""
    spark = spark_session(SparkSettings(conf=TUNED), jar_sets=JAR_SETS)
    options = consumer_options(KafkaSettings(bootstrap_servers=bootstrap_servers, topic=topic))
    source = spark.readStream.format("kafka").options(**options)
    records = source.option("subscribe", topic).option("startingOffsets", "earliest").load()
    event = from_avro(body(), load_schemas()[WRITER_ID], {"mode": "PERMISSIVE"})
    events = records.select(event.alias("event")).select(
        "event.event_id", "event.event_type", "event.user_id", F.col("event.event_time").alias("event_time")
    )
    once = events.withWatermark("event_time", "10 seconds").dropDuplicatesWithinWatermark(["event_id"])
    windows = windows_of(once).withColumnRenamed("start", "window_start").withColumnRenamed("end", "window_end")
    checkpoint = Path(folder, "checkpoint").absolute().as_uri()
    writer = windows.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    writer.trigger(processingTime="1 second").start(f"{folder}/page_views").awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
