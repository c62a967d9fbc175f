"""How large the tables are, and the disk below them."""

from pathlib import Path

from deltalake import write_deltalake

from pipeline.runtime.disk import Size
from pipeline.tables.handle import open_table
from pipeline.tables.schemas import LEDGER, PAGE_VIEWS
from pipeline.tables.statistics import sizes, space
from tests.support.ledger_rows import NOON_MS, commit, ledger_row


def test_a_table_counts_by_its_live_files(tmp_path: Path) -> None:
    commit(tmp_path, ledger_row(1, 0, 10, NOON_MS), ledger_row(1, 1, 10, NOON_MS))
    commit(tmp_path, ledger_row(2, 0, 10, NOON_MS), ledger_row(2, 1, 10, NOON_MS))
    open_table(PAGE_VIEWS, str(tmp_path))
    found = sizes(str(tmp_path), [PAGE_VIEWS])
    on_disk = sum(file.stat().st_size for file in (tmp_path / "ledger").glob("*.parquet"))
    assert found == {"ledger": Size(rows=4, bytes=on_disk, files=2), "page_views": Size(0, 0, 0)}
    write_deltalake(LEDGER.uri(str(tmp_path)), LEDGER.schema.empty_table(), mode="overwrite")
    assert sizes(str(tmp_path), [])["ledger"].rows == 0


def test_a_warehouse_that_is_not_there_yet_has_the_space_of_where_it_will_be(tmp_path: Path) -> None:
    later, now = space(str(tmp_path / "not" / "yet")), space(str(tmp_path))
    assert later is not None
    assert now is not None
    assert later.total == now.total > now.free > 0


def test_an_object_store_has_no_space_to_tell() -> None:
    assert space("s3://bucket/warehouse") is None
