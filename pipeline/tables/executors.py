"""Spark's executors, which read and write Parquet files for the tables."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipeline.tables.large import FilesView

_CONF: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
_GONE: Final = "PATH_NOT_FOUND"
_ROWS_OF_TASK: Final = 1_000_000
"""So many rows that are read make a task that adds up, and so a file."""


class SparkExecutors:
    """The executors of a Spark session, with views and properties of their own."""

    def __init__(self, spark: SparkSession) -> None:
        self._session = spark.newSession()
        self._slots = spark.sparkContext.defaultParallelism
        for name, value in _CONF.items():
            self._session.conf.set(name, value)

    def write(self, sql: str, views: Mapping[str, FilesView], schema: pa.Schema, to: str) -> None:
        """Writes the rows of a statement as Parquet files with these columns into a folder, which it makes.

        Raises OSError where they cannot be read or written, as delta-rs does.
        """
        tasks = sum(view.files.rows for view in views.values()) // _ROWS_OF_TASK
        self._session.conf.set("spark.sql.shuffle.partitions", max(tasks, self._slots))
        with _as_store():
            for name, view in views.items():
                self._rows(view).createOrReplaceTempView(name)
            self.write_rows(self._session.sql(sql), schema, to)

    def write_rows(self, rows: DataFrame, schema: pa.Schema, to: str) -> None:
        """The same of rows that they have; of columns that these lack there is nothing."""
        with _as_store():
            rows.to(from_arrow_schema(schema)).write.parquet(to)

    def _rows(self, view: FilesView) -> DataFrame:
        own = pa.schema([one for one in view.schema if one.name not in view.same])
        rows = self._session.read.schema(from_arrow_schema(own)).parquet(*view.files.uris)
        return rows.withColumns({name: F.lit(value) for name, value in view.same.items()})


@contextmanager
def _as_store() -> Iterator[None]:
    """A job that failed may succeed later; a file that is gone was compacted or erased after its log was read."""
    try:
        yield
    except Py4JJavaError as error:
        raise OSError(f"the executors failed: {error.java_exception}") from error
    except AnalysisException as error:
        if error.getCondition() != _GONE:
            raise
        raise OSError(f"the executors do not find a file of a table: {error}") from error
