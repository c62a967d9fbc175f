"""A Spark session as readers of the tables have, with Delta, in a process of its own: ours has no Delta."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Final, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.peers.delta import TUNED
from tests.support.brief_java import BRIEF_DRIVER
from tidemark.pipeline.runtime.jars import jars_of
from tidemark.pipeline.runtime.java import use_java
from tidemark.pipeline.runtime.spark import CLOSED

Result = TypeVar("Result")
_DELTA: Final = {
    **TUNED,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


class SparkReader:
    """Runs statements in the session."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def sql(self, statement: str) -> pa.Table:
        """Returns the rows of a statement."""
        return self._pool.submit(_rows, statement).result()

    def views(self, warehouse: str) -> list[str]:
        """Creates the views of a warehouse as a user does, and returns their names."""
        return self._pool.submit(_views, warehouse).result()

    def call(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Returns the result of a function of a module in the process of the session, which is active."""
        return self._pool.submit(function, *arguments).result()


@cache
def spark_reader() -> SparkReader:
    """Returns the session, which lives as long as this process."""
    return SparkReader(ProcessPoolExecutor(1, get_context("spawn"), _open))


def _open() -> None:
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable  # executors need the package
    conf: dict[str, bool | float | int | str | None] = {
        **CLOSED,
        **BRIEF_DRIVER,
        **_DELTA,
        "spark.jars": ",".join(map(str, jars_of("delta"))),
    }
    SparkSession.builder.master("local[2]").config(map=conf).getOrCreate()


def _rows(statement: str) -> pa.Table:
    return _session().sql(statement).toArrow()


def _views(warehouse: str) -> list[str]:
    import tidemark  # noqa: PLC0415 - the API that a user has

    return tidemark.spark_views(_session(), warehouse)


def _session() -> SparkSession:
    session = SparkSession.getActiveSession()
    assert session
    return session
