"""The engine of `tidemark verify --on-spark`: Spark with Delta, which reads each table at the verified version."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tidemark.pipeline.runtime.spark import DELTA, is_in_s3, spark_session
from tidemark.pipeline.runtime.spark_errors import cause_in, is_of_spark
from tidemark.pipeline.settings.model import SparkSettings
from tidemark.pipeline.verifier.query_engines import Connect, Expected, columns_sql, violations_in
from tidemark.pipeline.verifier.verification import Row

_DIALECT: Final = {
    "spark.sql.ansi.enabled": "true",
    # `partition` is a word of Spark's SQL.
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.adaptive.enabled": "true",
}


def on_spark(settings: SparkSettings, warehouse: str) -> Connect:
    """Returns the engine of a new session with Delta, or of the session of spark-submit. Raises SetUpError."""
    jars = ("delta", "s3") if is_in_s3(warehouse) else ("delta",)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = spark_session(settings.model_copy(update={"conf": DELTA | settings.conf}), jar_sets=jars)
    return lambda tables: SparkEngine(session, tables)


class SparkEngine:
    """Computes on executors, of which Python must have Tidemark; the driver gets answers and violations only."""

    def __init__(self, session: SparkSession, tables: Mapping[str, DeltaTable]) -> None:
        self._session = session.newSession()  # with views and a dialect of its own
        for name, value in _DIALECT.items():
            self._session.conf.set(name, value)
        with _as_os_error():
            for name, table in tables.items():
                stored = self._session.read.format("delta").option("versionAsOf", table.version()).load(table.table_uri)
                stored.selectExpr(*columns_sql(table, "unix_millis({})")).createOrReplaceTempView(name)

    def ask(self, sql: str) -> pa.Table:
        """Returns the rows of a query."""
        with _as_os_error():
            return self._session.sql(sql).toArrow()

    def compare(self, sql: str, expected: Expected) -> tuple[int, list[Row]]:
        """Compares where the rows are, without Arrow, by which executors would need pandas."""
        checked = self._session.sparkContext.accumulator(0)

        def violations(row: Any) -> list[Row]:
            checked.add(1)
            return violations_in([row.asDict()], expected)

        with _as_os_error():
            rows = self._session.sql(sql).rdd.flatMap(violations).collect()
        return checked.value, rows


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Raises OSError for a failure outside this program, such as a file that an erasure removed meanwhile."""
    try:
        yield
    except Exception as error:
        if is_of_spark(error):
            raise OSError(cause_in(str(error))) from error
        raise
