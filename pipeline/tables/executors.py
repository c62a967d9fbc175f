"""Spark's executors, which read and write the Parquet files of tables."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.pyspark_internals import hadoop_configuration, java_packages
from tidemark.pipeline.runtime.spark_errors import cause_in, is_of_spark
from tidemark.pipeline.tables.large import FilesView

_CONF: Final = {
    # The SQL is our own: DataFusion runs it for smaller jobs, with the same comparisons, and its overflows are errors.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
_FILE_MISSING: Final = "PATH_NOT_FOUND"
_ROWS_PER_TASK: Final = 1_000_000
"""Rows read per task of an aggregation, and so per file."""


class SparkExecutors:
    """The executors of a Spark session, with views and properties of their own session."""

    def __init__(self, spark: SparkSession) -> None:
        self._session = spark.newSession()
        self._slots = spark.sparkContext.defaultParallelism
        for name, value in _CONF.items():
            self._session.conf.set(name, value)

    def write(self, sql: str, views: Mapping[str, FilesView], schema: pa.Schema, to: str) -> None:
        """Writes the rows of `sql` over `views` as Parquet files with columns `schema` into the new folder `to`.

        Raises OSError, like delta-rs, if files cannot be read or written.
        """
        tasks = sum(view.files.rows for view in views.values()) // _ROWS_PER_TASK
        self._session.conf.set("spark.sql.shuffle.partitions", max(tasks, self._slots))
        with _as_store_errors():
            for name, view in views.items():
                self._rows(view).createOrReplaceTempView(name)
            self.write_rows(self._session.sql(sql), schema, to)

    def write_rows(self, rows: DataFrame, schema: pa.Schema, to: str) -> None:
        """Writes the rows of a frame like `write`; columns that the frame lacks are null."""
        with _as_store_errors():
            rows.to(from_arrow_schema(schema)).write.parquet(to)

    def _rows(self, view: FilesView) -> DataFrame:
        own = pa.schema([column for column in view.schema if column.name not in view.same])
        rows = self._session.read.schema(from_arrow_schema(own)).parquet(*view.files.uris)
        return rows.withColumns({name: F.lit(value) for name, value in view.same.items()})


def require_client(spark: SparkSession, uri: str) -> None:
    """Raises SetUpError if Spark has no client of the store of `uri`."""
    java = java_packages(spark)
    try:
        java.org.apache.hadoop.fs.Path(uri).getFileSystem(hadoop_configuration(spark))
    except Py4JJavaError as error:
        raise SetUpError(
            f"Spark's executors cannot read and write {uri}: {error.java_exception}; give Spark a client of the store, "
            'as docs/performance.md describes, or set spark.large = "driver"'
        ) from error


@contextmanager
def _as_store_errors() -> Iterator[None]:
    """Turns errors that a retry may avoid into OSError: a read or write that failed, a file that was just removed."""
    try:
        yield
    except Py4JJavaError as error:
        if not is_of_spark(error):
            raise
        raise OSError(f"the executors failed: {cause_in(str(error))}") from error
    except AnalysisException as error:
        if error.getCondition() != _FILE_MISSING:
            raise
        raise OSError(f"the executors cannot find a file of a table: {error}") from error
