"""Errors of a store differ from defects; the real libraries raise both."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.store_errors import is_of_store

ROWS = pa.table({"a": [1, 2], "b": ["x", "y"]})


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    write_deltalake(tmp_path / "table", ROWS)
    return DeltaTable(tmp_path / "table")


def raised(act: Callable[[], object]) -> Exception:
    try:
        act()
    except Exception as error:  # noqa: BLE001 - any error is the result
        return error
    raise AssertionError("nothing was raised")


def data_file(table: DeltaTable) -> Path:
    (file,) = Path(table.table_uri.removeprefix("file://")).glob("*.parquet")
    return file


@pytest.mark.parametrize(
    "defect",
    [
        lambda table: query("SELECT CAST(b AS INT) FROM it", it=table),
        lambda table: query("SELECT c FROM it", it=table),
        lambda table: query("SELEC", it=table),
        lambda table: query("SELECT arrow_cast(a, 'Foo') FROM it", it=table),
        lambda table: query("LOCK TABLE it", it=table),
        lambda table: query("SELECT 1 / 0 FROM it", it=table),
        lambda table: query("SELECT CAST(1e30 AS BIGINT) FROM it", it=table),
        lambda table: write_deltalake(table, ROWS.append_column("c", ROWS["a"]), mode="append"),
        lambda table: write_deltalake(table, ROWS.set_column(0, "a", ROWS["b"]), mode="append"),
        lambda table: table.delete("c = 1"),
        lambda table: table.delete("a = = 1"),
        lambda table: table.delete("nothing(a) = 1"),
        lambda _: ROWS.cast(pa.schema([("a", pa.int64()), ("b", pa.int64())])),
        lambda _: pa.concat_tables([ROWS, ROWS.select(["b", "a"]).drop(["a"])]),
        lambda _: (Path(__file__).with_name("missing_template.html")).read_text(),
    ],
    ids=[
        "cast",
        "column",
        "syntax",
        "plan",
        "not implemented",
        "zero",
        "overflow",
        "new column",
        "type",
        "delete",
        "delete syntax",
        "delete function",
        "arrow cast",
        "concat",
        "file",
    ],
)
def test_a_defect_is_not_of_the_store(table: DeltaTable, defect: Callable[[DeltaTable], object]) -> None:
    assert not is_of_store(raised(lambda: defect(table)))


def test_a_table_or_file_that_cannot_be_read_is_of_the_store(table: DeltaTable, tmp_path: Path) -> None:
    assert is_of_store(raised(lambda: DeltaTable(tmp_path / "missing")))
    data_file(table).write_bytes(b"cut off")
    assert is_of_store(raised(lambda: query("SELECT * FROM it", it=table)))
    data_file(table).unlink()
    assert is_of_store(raised(lambda: query("SELECT * FROM it", it=table)))
    assert is_of_store(raised(lambda: table.delete("a = 1")))
    assert is_of_store(raised((tmp_path / "missing.txt").read_text))
    assert is_of_store(OSError(28, "No space left on device"))


def test_a_store_that_does_not_answer_is_of_the_store() -> None:
    options = {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "r",
        "max_retries": "0",
    }
    assert is_of_store(raised(lambda: DeltaTable("s3://bucket/table", storage_options=options)))
