"""How large the tables are, and the disk below them."""

import json
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from tests.support.ledger_rows import NOON_MS, commit, ledger_row
from tidemark.pipeline.runtime.disk import Size
from tidemark.pipeline.tables.file_statistics import sizes, space
from tidemark.pipeline.tables.files import write
from tidemark.pipeline.tables.handle import Handle, create_table
from tidemark.pipeline.tables.schemas import EVENT_IDS, LEDGER, PAGE_VIEWS


def test_a_table_counts_by_its_live_files(tmp_path: Path) -> None:
    commit(tmp_path, ledger_row(1, 0, 10, NOON_MS), ledger_row(1, 1, 10, NOON_MS))
    commit(tmp_path, ledger_row(2, 0, 10, NOON_MS), ledger_row(2, 1, 10, NOON_MS))
    create_table(PAGE_VIEWS, str(tmp_path))
    found = sizes(str(tmp_path), [PAGE_VIEWS])
    on_disk = sum(file.stat().st_size for file in (tmp_path / "ledger").glob("*.parquet"))
    assert found == {"ledger": Size(rows=4, bytes=on_disk, files=2), "page_views": Size(0, 0, 0)}
    write_deltalake(LEDGER.uri(str(tmp_path)), LEDGER.schema.empty_table(), mode="overwrite")
    assert sizes(str(tmp_path), [])["ledger"].rows == 0


def test_a_file_has_the_bounds_of_its_rows_also_where_it_begins_with_a_group_without_any(tmp_path: Path) -> None:
    table = Handle.of(EVENT_IDS, str(tmp_path)).table
    rows = pa.Table.from_pylist([dict.fromkeys(EVENT_IDS.schema.names, number) for number in (3, 5)], EVENT_IDS.schema)
    batches = [pa.RecordBatch.from_pylist([], EVENT_IDS.schema), *rows.to_batches()]
    (file,) = write(table, pa.RecordBatchReader.from_batches(rows.schema, batches), {}, data_change=True)
    statistics = json.loads(file.stats or "")
    assert (statistics["minValues"]["batch"], statistics["maxValues"]["batch"]) == (3, 5)


def test_a_file_of_a_window_that_ends_in_the_year_10000_has_no_bounds_of_its_end(tmp_path: Path) -> None:
    table = Handle.of(PAGE_VIEWS, str(tmp_path)).table
    row = dict.fromkeys(PAGE_VIEWS.schema.names) | {"window_start": 0, "window_end": 253_402_300_800_000_000}
    rows = pa.table({name: pa.array([row[name]]).cast(PAGE_VIEWS.schema.field(name).type) for name in row})
    (file,) = write(table, rows, {}, data_change=True)
    statistics = json.loads(file.stats or "")
    assert statistics["numRecords"] == 1
    assert "window_start" in statistics["maxValues"]
    assert "window_end" not in statistics["maxValues"]


def test_a_warehouse_that_is_not_there_yet_has_the_space_of_where_it_will_be(tmp_path: Path) -> None:
    later, now = space(str(tmp_path / "not" / "yet")), space(str(tmp_path))
    assert later is not None
    assert now is not None
    assert later.total == now.total > now.free > 0


def test_an_object_store_has_no_free_space() -> None:
    assert space("s3://bucket/warehouse") is None
