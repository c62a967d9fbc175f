"""The textbook job as a beginner runs it: nothing set that need not be set."""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.avro.functions import from_avro

from benchmarks.peers import textbook
from benchmarks.task import Drain, Task, serve, told
from pipeline.runtime.jars import jars_of
from pipeline.runtime.java import use_java
from pipeline.runtime.spark import CLOSED
from schemas import WRITER_ID, load_schemas


def drain(task: Task, folder: Path) -> Drain:
    """One drain; without a limit it is one batch, whatever `task.batch` says."""
    records = (
        _session()
        .readStream.format("kafka")
        .option("kafka.bootstrap.servers", task.bootstrap_servers)
        .option("subscribe", task.topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    event = from_avro(textbook.body(), load_schemas()[WRITER_ID])
    events = records.select(event.alias("event")).select("event.*")
    return textbook.drain(textbook.page_views(events), task, folder)


def _session() -> SparkSession:
    """A session with the properties that Delta's own guide names, and the jars, that no other machine reaches."""
    use_java()
    return (
        SparkSession.builder.appName("textbook")
        .config(map={**CLOSED})
        .master("local[*]")
        .config("spark.jars", ",".join(map(str, jars_of("spark"))))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .getOrCreate()
    )


if __name__ == "__main__":
    serve(drain, told())
