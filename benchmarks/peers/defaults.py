"""The textbook job with default settings, as a beginner runs it."""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.avro.functions import from_avro

from benchmarks.peers import textbook
from benchmarks.peers.delta import JAR_SETS
from benchmarks.task import Drain, Task, serve, task_argument
from tidemark.pipeline.runtime.jars import jars_of
from tidemark.pipeline.runtime.java import use_java
from tidemark.pipeline.runtime.spark import CLOSED, DELTA
from tidemark.schemas import WRITER_ID, load_schemas


def drain(task: Task, folder: Path) -> Drain:
    """Drains in one batch; ignores `task.batch`."""
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
    """Returns a session with the properties of Delta's guide and the jars, closed to other machines."""
    use_java()
    return (
        SparkSession.builder.appName("textbook")
        .config(map={**CLOSED, **DELTA})
        .master("local[*]")
        .config("spark.jars", ",".join(str(jar) for name in JAR_SETS for jar in jars_of(name)))
        .getOrCreate()
    )


if __name__ == "__main__":
    serve(drain, task_argument())
