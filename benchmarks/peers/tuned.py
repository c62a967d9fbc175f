"""The textbook job with Tidemark's tuning of Spark, Kafka and Delta on one machine.

Session, jars, consumer options and projection are Tidemark's own, so that only the job differs.
"""

from pathlib import Path

from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from benchmarks.peers import textbook
from benchmarks.peers.delta import JAR_SETS, TUNED
from benchmarks.peers.kafka_source import source_options
from benchmarks.peers.own_schemas import writer_and_reader_schema
from benchmarks.task import Drain, Task, serve, task_argument
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import KafkaSettings, SparkSettings


def drain(task: Task, folder: Path) -> Drain:
    """Drains in batches of `task.batch`."""
    spark = spark_session(SparkSettings(conf={**TUNED, **task.conf}), jar_sets=JAR_SETS)
    kafka = KafkaSettings(bootstrap_servers=task.bootstrap_servers, topic=task.topic)
    options = source_options(kafka, task.batch or task.events)
    records = spark.readStream.format("kafka").options(**options).load()
    writer, reader = writer_and_reader_schema()
    event = from_avro(textbook.body(), writer, {"avroSchema": reader})
    events = records.select(event.alias("event")).select(
        "event.event_type", "event.user_id", F.timestamp_millis("event.event_time").alias("event_time")
    )
    return textbook.drain(textbook.page_views(events), task, folder)


if __name__ == "__main__":
    serve(drain, task_argument())
