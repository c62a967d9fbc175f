"""The one Spark session of a process."""

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from pipeline.logs import LogFormat
from pipeline.runtime import classes, limits
from pipeline.runtime.callbacks import authenticate_callbacks
from pipeline.runtime.jars import jars_of
from pipeline.runtime.java import use_java
from pipeline.runtime.scratch import own_folder, own_folder_in
from pipeline.settings.model import SparkSettings

AVRO_LIMITS: Final = (
    # A record that claims a huge string must not make an executor allocate it.
    "-Dorg.apache.avro.limits.bytes.maxLength=1048576 "
    "-Dorg.apache.avro.limits.string.maxLength=1048576 "
    "-Dorg.apache.avro.limits.collectionItems.maxLength=65536"
)
# Avro's newer reader: a fifth less CPU for reading and decoding together.
JVM_OPTIONS: Final = f"-XX:+UseParallelGC -Dorg.apache.avro.fastread=true {AVRO_LIMITS}"
REDACTED: Final = "(?i)secret|password|token|access[.]?key|jaas[.]config|ssl[.]keystore|private key"
"""Spark's own expression, and what Kafka's clients are told besides: Spark shows no option by such a name or value."""
_ALWAYS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Small results in many tasks cost seconds per batch.
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    # The rows of a fold are kept for two looks: to compress them took a twentieth of the CPU of a drain.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # A fold that was taken for small and is more than this comes in pieces.
    "spark.driver.maxResultSize": "512m",
    # A query whose broker has gone asks it for minutes more before it can be stopped: then it is left to itself.
    "spark.sql.streaming.stopTimeout": "10s",
    "spark.redaction.regex": REDACTED,
    # What the status store keeps per query must not grow the driver over weeks.
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
}
_LOOPBACK: Final = "127.0.0.1"
CLOSED: Final = {
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
    # Spark makes the secret by itself. Other users of this machine reach the loopback address, too.
    "spark.authenticate": "true",
}
"""Where driver and executor are one process, no other process has a reason to speak to it."""
_MEMORY: Final = "spark.driver.memory"
_AT_START: Final = frozenset(
    {
        _MEMORY,
        "spark.master",
        "spark.jars",
        "spark.driver.defaultJavaOptions",
        "spark.driver.extraClassPath",
        "spark.driver.extraJavaOptions",
        "spark.driver.extraLibraryPath",
        # Spark's launcher opens the jars, and Hadoop keeps the class by which it did for the whole process.
        "spark.hadoop.fs.file.impl",
    }
)
"""The properties that Java itself is started by. Its arguments can be read by all users of the machine."""
_HADOOP: Final = "spark.hadoop."
_LOCAL_DIRS: Final = "SPARK_LOCAL_DIRS"
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""A variable that spark-submit sets."""
_PAGES: Final = (
    "Exception while sending command.",
    "There was an exception while executing the Python Proxy on the Python Side.",
    # A stranger who has no secret must not fill the log.
    "Could not authenticate connection.",
)
_STAND_ALONE: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # With `spark.master` of a cluster the records are decoded elsewhere.
    "spark.executor.extraJavaOptions": JVM_OPTIONS,
    # Without native Hadoop libraries each file written to a local disk would fork chmod and readlink.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
    ),
}


def spark_session(settings: SparkSettings, log_format: LogFormat = "console") -> SparkSession:
    """Returns the session of this process, made on first use; spark-submit's own where that started us.

    Raises SetUpError if there is no Java, too little memory, or a jar cannot be had.
    """
    session = SparkSession.getActiveSession() or _new_session(settings, log_format)
    session.sparkContext.setLogLevel("ERROR")
    return session


def given_properties(settings: SparkSettings) -> dict[str, str]:
    """Returns the properties of the settings, those of spark-submit where that started us, and always the master."""
    if _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()  # noqa: SLF001 - no other way to what spark-submit was told
        return {**dict(SparkConf().getAll()), **settings.conf}
    return {"spark.master": _master_of(settings), **settings.conf}


def _master_of(settings: SparkSettings) -> str:
    """Returns the master of the settings, or this machine with more slots than cores: a task half waits for Kafka."""
    return settings.conf.get("spark.master") or settings.master or f"local[{2 * limits.cores()}]"


def _new_session(settings: SparkSettings, log_format: LogFormat) -> SparkSession:
    # py4j prints pages where its Java process ends; `java_process` says it in a sentence.
    for name in ("root", "py4j.clientserver"):
        logging.getLogger(name).addFilter(lambda record: record.msg not in _PAGES)
    properties = _ALWAYS | _deployment(settings, log_format) | settings.conf
    if "spark.local.dir" in settings.conf:
        properties["spark.local.dir"] = _private(settings.conf["spark.local.dir"])
    properties["spark.redaction.regex"] = _redaction(properties["spark.redaction.regex"], settings.conf)
    at_start = [(name, value) for name, value in properties.items() if name in _AT_START]
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(at_start))  # noqa: SLF001 - no other way
    conf = SparkConf().setAll([*properties.items()])
    if (conf.get("spark.master") or "").startswith("local"):
        conf.setAll([(name, conf.get(name, value) or value) for name, value in CLOSED.items()])
    context = SparkContext.getOrCreate(conf.setIfMissing("spark.app.name", "tidemark"))
    authenticate_callbacks(context)
    hadoop = {name for name in settings.conf if name.startswith(_HADOOP)}
    _forget(context, hadoop)
    return SparkSession.builder.config(
        map={name: value for name, value in properties.items() if name not in hadoop}
    ).getOrCreate()


def _private(folders: str) -> str:
    """Returns a folder of this process in each of some folders, as Spark writes them."""
    return ",".join(str(own_folder_in(Path(folder))) for folder in folders.split(","))


def _redaction(expression: str, conf: Mapping[str, str]) -> str:
    """Returns an expression that also has the names in `conf`: which of them are secrets only their owner knows."""
    # Spark's page lists those of Hadoop's clients by their own names.
    names = sorted(re.escape(name.removeprefix(_HADOOP)) for name in conf if name not in _AT_START)
    return "|".join([expression, *(f"^({re.escape(_HADOOP)})?{name}$" for name in names)])


def _forget(context: SparkContext, names: set[str]) -> None:
    """Takes properties of Hadoop's clients, which have them by now, from those that Spark shows."""
    java: Any = context._jsc  # noqa: SLF001 - PySpark has no way to it
    for name in names:
        java.sc().conf().remove(name)


def _deployment(settings: SparkSettings, log_format: LogFormat) -> dict[str, str]:
    """Returns master, jars, memory and scratch folder; nothing under spark-submit, which sets them itself."""
    if _SUBMITTED in os.environ:
        return {}
    use_java()
    # What is told is not asked for: it may be that there is too little of it.
    memory = {} if _MEMORY in settings.conf else {_MEMORY: limits.heap()}
    master = _master_of(settings)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)  # Spark's own page, where it is turned on, goes by it
    scratch = own_folder()
    if named := os.environ.get(_LOCAL_DIRS):  # it wins over `spark.local.dir`
        os.environ[_LOCAL_DIRS] = _private(named)
    # Spark speaks on the same stream and in the same format as we do.
    words = f'"-Dlog4j2.configurationFile={Path(__file__).with_name(f"log4j2-{log_format}.properties")}"'
    return {
        **_STAND_ALONE,
        **memory,
        "spark.master": master,
        "spark.local.dir": str(scratch),
        # A folder that Spark makes and never fills, by default where the process was started.
        "spark.sql.warehouse.dir": (scratch / "spark-warehouse").as_uri(),
        "spark.sql.shuffle.partitions": str(limits.cores()),
        "spark.driver.extraJavaOptions": f'{JVM_OPTIONS} "-Djava.io.tmpdir={scratch}" {words} {classes.kept()}',
        "spark.jars": ",".join(str(jar) for jar in jars_of("spark")),
    }
