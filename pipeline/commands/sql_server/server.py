"""`tidemark sql-server`: Spark's Thrift server over a warehouse, which BI tools ask by Hive's JDBC and ODBC."""

import signal
import socket
import tempfile
from collections.abc import Iterable
from threading import Event
from typing import Any, Final

import structlog
from pyspark.sql import SparkSession

from pipeline.errors import JavaEnded, SetUpError
from pipeline.runtime.jars import jars_of
from pipeline.runtime.java_process import ENDED, java_ended, java_watched
from pipeline.runtime.session import spark_session
from pipeline.settings.model import SparkSettings
from pipeline.tables.engines import Engine
from pipeline.tables.views import View, views

_EVERY_S: Final = 60.0
"""So often it looks for tables that came since."""
_log = structlog.get_logger()


def serve_sql(warehouse: str, host: str, port: int, memory: str) -> None:
    """Serves until SIGTERM or SIGINT, with a Java heap of `memory`, such as `2g`.

    Raises SetUpError where there is no warehouse or the address cannot be had, JavaEnded when Spark's process is gone.
    """
    found = views(warehouse, Engine.SPARK)
    _require_address(host, port)
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="tidemark-sql-") as scratch, java_watched(stop.set):
        spark = spark_session(SparkSettings(conf=_conf(host, port, memory, scratch)))
        _make(spark, found)
        _listen(spark)
        _log.info("the SQL end point is open", url=f"jdbc:hive2://{host}:{port}", views=len(found))
        while not stop.wait(_EVERY_S):
            _make(spark, views(warehouse, Engine.SPARK))
        if java_ended():
            raise JavaEnded(ENDED)
        spark.stop()


def _conf(host: str, port: int, memory: str, scratch: str) -> dict[str, str]:
    """What a Thrift server needs beside a session; what Hive writes for itself goes into a folder that goes, too."""
    return {
        "spark.app.name": "tidemark sql-server",
        "spark.driver.memory": memory,
        # Hive's threads load with Java's own class loader, which does not see `spark.jars`.
        "spark.driver.extraClassPath": ":".join(str(jar) for jar in jars_of("spark")),
        "spark.driver.defaultJavaOptions": f"-Dderby.stream.error.file={scratch}/derby.log -Djava.io.tmpdir={scratch}",
        "spark.hadoop.hive.exec.scratchdir": f"{scratch}/hive",
        "spark.hadoop.hive.server2.thrift.bind.host": host,
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.sql.warehouse.dir": f"{scratch}/spark",
    }


def _require_address(host: str, port: int) -> None:
    """Raises SetUpError where nobody can listen; Hive would try on and on."""
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        raise SetUpError(
            f"cannot listen on {host}:{port}: {error.strerror}. Name another with --host and --port"
        ) from error


def _make(spark: SparkSession, found: Iterable[View]) -> None:
    """Makes the views in the catalog that all sessions share."""
    for view in found:
        for statement in view.statements(Engine.SPARK):
            spark.sql(statement)


def _listen(spark: SparkSession) -> None:
    """Spark's own server, in this process; it ends with the session."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no way to it
    server = jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2
    server.startWithContext(spark._jsparkSession.sqlContext())  # noqa: SLF001 - PySpark has no way to it
