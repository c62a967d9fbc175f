"""The one Spark session of a process."""

import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pyspark import SparkConf, SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from tidemark.pipeline.logs import LogFormat
from tidemark.pipeline.runtime import classes, limits
from tidemark.pipeline.runtime.account import has_account
from tidemark.pipeline.runtime.connector import connector_jar
from tidemark.pipeline.runtime.jars import jars_of
from tidemark.pipeline.runtime.java import use_java
from tidemark.pipeline.runtime.pyspark_internals import (
    CHECKPOINT_FILES,
    authenticate_callbacks,
    log_in,
    remove_properties,
    start_java,
)
from tidemark.pipeline.runtime.scratch import own_folder, own_folder_in
from tidemark.pipeline.settings.model import Settings, SparkSettings

SPARK_JARS: Final = "spark"
"""The section of jars.lock that every session needs."""
JVM_OPTIONS: Final = "-XX:+UseParallelGC"
REDACTED: Final = "(?i)secret|password|token|access[.]?key|jaas[.]config|ssl[.]keystore|private key"
"""Spark's own expression, extended for Kafka's clients: Spark displays no option with such a name or value."""
_ALWAYS: Final = {
    "spark.sql.session.timeZone": "UTC",
    # A condition without a value, such as a division by zero, is not met: one record must not stop the service.
    "spark.sql.ansi.enabled": "false",
    # PySpark would otherwise ask Java for the line that called each function on a column: seven of ten of its calls.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Small results in many tasks cost seconds per batch.
    "spark.sql.adaptive.enabled": "false",
    # The rows of a fold are cached and read twice: compressing them took a twentieth of the CPU of a drain.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # A fold that was estimated as small and is larger than this is fetched in pieces.
    "spark.driver.maxResultSize": "512m",
    # A query whose broker is gone retries for minutes before it can be stopped: then it is left to itself.
    "spark.sql.streaming.stopTimeout": "10s",
    # Hadoop's client of S3 is registered for s3a only. By default it buffers the parts of a file on the local disk,
    # which fails with RawLocalFileSystem (see below); so it buffers them in the heap.
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "spark.hadoop.fs.s3a.fast.upload.buffer": "array",
    "spark.hadoop.fs.s3a.multipart.size": "16M",
    "spark.redaction.regex": REDACTED,
    # The status store retains data of each query: the driver must not grow over weeks.
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
}
DELTA: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""The properties of a session that reads tables, by Delta's guide; it needs the jars `delta`."""
_LOOPBACK: Final = "127.0.0.1"
CLOSED: Final = {
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
    # Spark creates the secret. Other users of this machine can reach the loopback address, too.
    "spark.authenticate": "true",
}
"""Properties if driver and executor are one process: no other process has a reason to connect to it."""
_ONE_PROCESS: Final = {
    **CLOSED,
    # A heartbeat that does not arrive means that the machine was suspended: Java would exit when it goes on.
    "spark.storage.blockManagerHeartbeatTimeoutMs": "1000000000000",
    "spark.executor.heartbeat.maxFailures": "1000000000",
}
_JARS: Final = "spark.jars"
_MEMORY: Final = "spark.driver.memory"
_OPTIONS: Final = "spark.driver.extraJavaOptions"
_AT_START: Final = frozenset(
    {
        _MEMORY,
        "spark.master",
        _JARS,
        "spark.driver.defaultJavaOptions",
        "spark.driver.extraClassPath",
        _OPTIONS,
        "spark.driver.extraLibraryPath",
        # Spark's launcher opens the jars, and Hadoop uses that class for the whole process.
        "spark.hadoop.fs.file.impl",
    }
)
"""Properties that Java itself is started with. All users of the machine can read its arguments."""
_HADOOP: Final = "spark.hadoop."
_LOCAL_DIRS: Final = "SPARK_LOCAL_DIRS"
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""An environment variable that spark-submit sets."""
_NOISE: Final = (
    "Exception while sending command.",
    "There was an exception while executing the Python Proxy on the Python Side.",
    # A client without the secret must not fill the log.
    "Could not authenticate connection.",
)
_REPEATING: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers by which PySpark prints each error of a statement with Java's stack; the error is reported in a sentence."""
_STAND_ALONE: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # With `spark.master` of a cluster the records are decoded elsewhere.
    "spark.executor.extraJavaOptions": JVM_OPTIONS,
    # Without native Hadoop libraries each file written to a local disk would fork chmod and readlink.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_FILES,
}


def spark_session(
    settings: SparkSettings, log_format: LogFormat = "console", jar_sets: Sequence[str] = (SPARK_JARS,)
) -> SparkSession:
    """Returns the session of this process, created on first use, or that of spark-submit.

    `jar_sets` are the sections of jars.lock that a new session needs. Raises SetUpError if there is no Java, too little
    memory, or a jar cannot be downloaded.
    """
    session = SparkSession.getActiveSession() or _new_session(settings, log_format, jar_sets)
    session.sparkContext.setLogLevel("ERROR")
    return session


def jar_sets_of(settings: Settings) -> tuple[str, ...]:
    """Returns the sections of jars.lock that a service needs: `s3` only if executors write to a warehouse in S3."""
    is_shared = settings.spark.large == "executors" and is_in_s3(settings.warehouse)
    return (SPARK_JARS, "s3") if is_shared else (SPARK_JARS,)


def is_in_s3(warehouse: str) -> bool:
    """Returns whether Spark needs the jars `s3` to access the tables of a warehouse."""
    return warehouse.startswith(("s3:", "s3a:"))


def given_properties(settings: SparkSettings) -> dict[str, str]:
    """Returns the properties of the settings and of spark-submit, always including the master."""
    if _SUBMITTED in os.environ:
        start_java()  # to read the properties of spark-submit
        return {**dict(SparkConf().getAll()), **settings.conf}
    return {"spark.master": _master_of(settings), **settings.conf}


def _master_of(settings: SparkSettings) -> str:
    """Returns the master of the settings, or a local master with two slots per core: tasks often wait for Kafka."""
    return settings.conf.get("spark.master") or settings.master or f"local[{2 * limits.cores()}]"


def _new_session(settings: SparkSettings, log_format: LogFormat, jar_sets: Sequence[str]) -> SparkSession:
    # py4j prints pages when its Java process ends; `java_process` prints a sentence.
    for name in ("root", "py4j.clientserver"):
        logging.getLogger(name).addFilter(lambda record: record.msg not in _NOISE)
    for name in _REPEATING:
        PySparkLogger.getLogger(name).disabled = True
    own = _ALWAYS | _deployment(settings, log_format, jar_sets)
    properties = own | settings.conf
    if _JARS in own and _JARS in settings.conf:  # without its own jars no service can start
        properties[_JARS] = f"{own[_JARS]},{settings.conf[_JARS]}"
    if "spark.local.dir" in settings.conf:
        properties["spark.local.dir"] = _private(settings.conf["spark.local.dir"])
    properties["spark.redaction.regex"] = _redaction(properties["spark.redaction.regex"], settings.conf)
    _start({name: value for name, value in properties.items() if name in _AT_START})
    conf = SparkConf().setAll([*properties.items()])
    if (conf.get("spark.master") or "").startswith("local"):
        conf.setAll([(name, conf.get(name, value) or value) for name, value in _ONE_PROCESS.items()])
    context = SparkContext.getOrCreate(conf.setIfMissing("spark.app.name", "tidemark"))
    authenticate_callbacks(context)
    hadoop = {name for name in settings.conf if name.startswith(_HADOOP)}
    remove_properties(context, hadoop)  # Hadoop has read them: Spark must not list them
    return SparkSession.builder.config(
        map={name: value for name, value in properties.items() if name not in hadoop}
    ).getOrCreate()


def _start(properties: Mapping[str, str]) -> None:
    """Starts Java with these properties, under any user id."""
    is_known = has_account()
    at_start = properties if is_known else _without_account(properties)
    start_java(SparkConf(loadDefaults=False).setAll([*at_start.items()]))
    if not is_known:
        log_in("tidemark")


def _without_account(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns the properties by which Java starts under a user id without an entry in passwd.

    Java calls its home directory `?`, in which spark-submit refuses to have its cache. And Hadoop's client, which would
    look for jars, fails without a name of the user, so spark-submit must not use it: `local:` is for files that exist.
    """
    home, jars = own_folder(), properties.get(_JARS, "").split(",")
    return {
        "spark.jars.ivy": str(home / "ivy"),
        **properties,
        _OPTIONS: f'"-Duser.home={home}" {properties.get(_OPTIONS, "")}',
        _JARS: ",".join(f"local:{quote(jar)}" if jar.startswith("/") else jar for jar in jars),
    }


def _private(folders: str) -> str:
    """Returns a folder of this process in each of `folders`, which are separated by commas."""
    return ",".join(str(own_folder_in(Path(folder))) for folder in folders.split(","))


def _redaction(expression: str, conf: Mapping[str, str]) -> str:
    """Returns an expression that also matches the names in `conf`: any of them may be a secret."""
    # Spark's page lists the properties of Hadoop's clients without the prefix.
    names = sorted(re.escape(name.removeprefix(_HADOOP)) for name in conf if name not in _AT_START)
    return "|".join([expression, *(f"^({re.escape(_HADOOP)})?{name}$" for name in names)])


def _deployment(settings: SparkSettings, log_format: LogFormat, jar_sets: Sequence[str]) -> dict[str, str]:
    """Returns master, jars, memory and scratch folder; nothing under spark-submit, which sets them."""
    if _SUBMITTED in os.environ:
        return {}
    use_java()
    # Not computed if it is set: the container may have too little memory.
    memory = {} if _MEMORY in settings.conf else {_MEMORY: limits.heap()}
    master = _master_of(settings)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)  # Spark's own page, if turned on, uses it
    scratch = own_folder()
    if folders := os.environ.get(_LOCAL_DIRS):  # it overrides `spark.local.dir`
        os.environ[_LOCAL_DIRS] = _private(folders)
    # Spark logs to the same stream and in the same format as this process.
    log4j = f'"-Dlog4j2.configurationFile={Path(__file__).with_name(f"log4j2-{log_format}.properties")}"'
    archive = classes.archive_options()
    jars = [jar for name in jar_sets for jar in jars_of(name)]
    return {
        **_STAND_ALONE,
        **memory,
        "spark.master": master,
        "spark.local.dir": str(scratch),
        # Spark creates this folder and never fills it; by default it is in the working directory.
        "spark.sql.warehouse.dir": (scratch / "spark-warehouse").as_uri(),
        "spark.sql.shuffle.partitions": str(limits.cores()),
        _OPTIONS: f'{JVM_OPTIONS} "-Djava.io.tmpdir={scratch}" {log4j} {archive}',
        _JARS: ",".join(str(jar) for jar in (*jars, connector_jar())),
    }
