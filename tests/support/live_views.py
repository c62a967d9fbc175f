"""Readers of the live view: each runs, in its own engine, what `tidemark live` prints."""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from duckdb_extensions import import_extension

from tests.support.seeds import in_turn
from tests.support.spark_reader import spark_reader
from tests.support.warehouse import milliseconds
from tidemark.pipeline.cli import main

Row = dict[str, Any]


def printed(warehouse: str, report: str, engine: str) -> str:
    """Runs the command and returns what it prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(["live", "--warehouse", warehouse, "--report", report, "--engine", engine]) == 0
    return out.getvalue()


def by_spark(warehouse: str, report: str) -> pa.Table:
    spark = spark_reader()
    spark.sql(printed(warehouse, report, "spark"))
    return spark.sql(f"SELECT * FROM {report}_live")  # noqa: S608 - our own name


def by_duckdb(warehouse: str, report: str) -> pa.Table:
    """With the extension `delta` as PyPI has it; DuckDB would fetch it from elsewhere when it is first used."""
    with TemporaryDirectory() as folder, duckdb.connect(config={"extension_directory": folder}) as connection:
        import_extension("delta", con=connection)
        connection.load_extension("delta")
        connection.execute(printed(warehouse, report, "duckdb"))
        return connection.view(f"{report}_live").to_arrow_table()


def by_delta_rs(warehouse: str, report: str) -> pa.Table:
    query = QueryBuilder()
    for name in (report, "panes", "ledger", "corrections"):
        if Path(warehouse, name).exists():
            query = query.register(name, DeltaTable(f"{warehouse}/{name}"))
    return pa.table(query.execute(printed(warehouse, report, "delta-rs")))


READERS: dict[str, Callable[[str, str], pa.Table]] = {
    "spark": by_spark,
    "duckdb": by_duckdb,
    "delta-rs": by_delta_rs,
}


def each_reader(number: int) -> pytest.MarkDecorator:
    """Runs a test with each `reader`; with Spark, which takes the most time, in one of three runs, by its `number`."""
    readers = [pytest.param(name, marks=[in_turn(number % 3, 3)] * (name == "spark")) for name in READERS]
    return pytest.mark.parametrize("reader", readers)


def cells(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    """Rows in order, with times as milliseconds."""
    return sorted(tuple(_plain(row[name]) for name in names) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    return milliseconds(value) if hasattr(value, "timestamp") else value
