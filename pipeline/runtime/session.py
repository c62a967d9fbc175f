"""The one Spark session of a process."""

import logging
import os
from typing import Final

from pyspark.sql import SparkSession

from pipeline.runtime.jars import spark_jars
from pipeline.runtime.java import use_java
from pipeline.settings.model import SparkSettings

AVRO_LIMITS: Final = (
    # A record that claims a huge string must not make an executor allocate it.
    "-Dorg.apache.avro.limits.bytes.maxLength=1048576 "
    "-Dorg.apache.avro.limits.string.maxLength=1048576 "
    "-Dorg.apache.avro.limits.collectionItems.maxLength=65536"
)
# Avro's newer reader: a fifth less CPU for reading and decoding together.
JVM_OPTIONS: Final = f"-XX:+UseParallelGC -Dorg.apache.avro.fastread=true {AVRO_LIMITS}"
_ALWAYS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Small results in many tasks cost seconds per batch.
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    # A query whose broker has gone asks it for minutes more before it can be stopped: then it is left to itself.
    "spark.sql.streaming.stopTimeout": "10s",
    # What the status store keeps per query must not grow the driver over weeks.
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
}
_STAND_ALONE: Final = {
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": JVM_OPTIONS,
    # With `spark.master` of a cluster the records are decoded elsewhere.
    "spark.executor.extraJavaOptions": JVM_OPTIONS,
    # Without native Hadoop libraries each file written to a local disk would fork chmod and readlink.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
    ),
}


def spark_session(settings: SparkSettings) -> SparkSession:
    """The session of this process, made on first use; spark-submit's own where that started us.

    Raises SetUpError if there is no Java, or a jar cannot be had.
    """
    session = SparkSession.getActiveSession() or _new_session(settings)
    session.sparkContext.setLogLevel("ERROR")
    return session


def _new_session(settings: SparkSettings) -> SparkSession:
    # py4j prints pages to the root logger where its Java process ends; `java_process` says it in a sentence.
    logging.getLogger().addFilter(lambda record: record.msg != "Exception while sending command.")
    builder = SparkSession.builder.appName("tidemark")
    for name, value in (_ALWAYS | _deployment(settings) | settings.conf).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _deployment(settings: SparkSettings) -> dict[str, str]:
    """Master, jars and memory; none under spark-submit, which sets them itself."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return {}
    use_java()
    cores = os.cpu_count() or 1
    return _STAND_ALONE | {
        # More slots than cores: a task waits for Kafka half of its time.
        "spark.master": settings.master or f"local[{2 * cores}]",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.jars": ",".join(str(jar) for jar in spark_jars()),
    }
