"""Tables that are not whole are found by their files, and the laws that need them are not asked."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from pipeline.verifier.invariants import verify
from pipeline.verifier.verification import Finding
from tests.verify.conftest import Copy

pytestmark = pytest.mark.slow


def whole(warehouse: Path) -> tuple[str, dict[str, Finding]]:
    """Returns what is wrong with the tables, and every law."""
    verification = verify(str(warehouse))
    laws = {law.name: law for law in verification.laws}
    assert not verification.is_sound
    return "\n".join(laws["tables are whole"].breaches), laws


def data_file(warehouse: Path, name: str) -> Path:
    files: list[str] = pa.table(DeltaTable(str(warehouse / name)).get_add_actions())["path"].to_pylist()
    return warehouse / name / min(files)


def entry(warehouse: Path, name: str, version: int) -> Path:
    return warehouse / name / "_delta_log" / f"{version:020}.json"


def test_a_file_that_is_missing(copy: Copy) -> None:
    warehouse = copy("page_views")
    file = data_file(warehouse, "page_views")
    size = file.stat().st_size
    file.unlink()
    told, laws = whole(warehouse)
    assert told == f"page_views: the file {file.name} of {size} bytes is not there (0 bytes)"
    assert laws["windows have fired, once"].looked_at == "nothing", "nothing can be asked of it"


def test_a_file_that_is_cut_off(copy: Copy) -> None:
    warehouse = copy("page_views")
    file = data_file(warehouse, "panes")
    data = file.read_bytes()
    file.write_bytes(data[:-100])
    told, laws = whole(warehouse)
    assert f"has {len(data) - 100} bytes, but the log says {len(data)}" in told
    assert laws["results are their panes"].told == ["not looked into: panes is not whole"]


def test_a_file_that_is_no_parquet(copy: Copy) -> None:
    warehouse = copy("page_views")
    file = data_file(warehouse, "dead_letters")
    file.write_bytes(b"x" * file.stat().st_size)
    told, _ = whole(warehouse)
    assert told.startswith(f"dead_letters: the file {file.name} is no Parquet of ")


def test_a_file_with_other_rows_than_the_log_says(copy: Copy) -> None:
    warehouse = copy("page_views")
    file = data_file(warehouse, "ledger")
    log = next(one for one in (warehouse / "ledger" / "_delta_log").glob("*.json") if file.name in one.read_text())
    rows = pq.read_metadata(file).num_rows
    log.write_text(log.read_text().replace(f'numRecords\\":{rows}', f'numRecords\\":{rows + 6}'))
    told, _ = whole(warehouse)
    assert told == f"ledger: the file {file.name} has {rows} rows, but the log says {rows + 6}"


@pytest.mark.parametrize("table", ["ledger", "panes", "page_views"])
def test_a_hole_in_the_log(table: str, copy: Copy) -> None:
    warehouse = copy("page_views")
    entry(warehouse, table, 1).unlink()
    told, _ = whole(warehouse)
    last = max(int(one.stem) for one in (warehouse / table / "_delta_log").glob("*.json"))
    assert told == f"{table}: the log has no entry 1, though it has others from 0 to {last}"


@pytest.mark.parametrize("cut", [0, 50])
def test_an_entry_of_the_log_that_is_cut_off(copy: Copy, cut: int) -> None:
    warehouse = copy("page_views")
    last = max((warehouse / "dead_letters" / "_delta_log").glob("*.json"))
    last.write_bytes(last.read_bytes()[:cut])
    told, _ = whole(warehouse)
    assert f"dead_letters: entry {int(last.stem)} of the log is no list of actions: {cut} bytes" in told


def test_a_log_is_read_from_its_last_checkpoint_on(copy: Copy) -> None:
    warehouse = copy("page_views")
    table = DeltaTable(str(warehouse / "page_views"))
    table.create_checkpoint()
    for version in range(table.version()):
        entry(warehouse, "page_views", version).unlink()
    assert verify(str(warehouse)).is_sound


def test_a_column_of_another_kind(copy: Copy) -> None:
    warehouse = copy("page_views")
    rows = DeltaTable(str(warehouse / "dead_letters")).to_pyarrow_table()
    column = rows.column_names.index("detail")
    rows = rows.set_column(column, "detail", pa.nulls(len(rows), pa.int64())).append_column(
        "more", pa.nulls(len(rows), pa.string())
    )
    write_deltalake(str(warehouse / "dead_letters"), rows, mode="overwrite", schema_mode="overwrite")
    told, _ = whole(warehouse)
    assert "dead_letters: column detail is int64, but must be string" in told
    assert "dead_letters: column more is string, but must be not there" in told


def test_panes_that_are_not_partitioned(copy: Copy) -> None:
    warehouse = copy("page_views")
    rows = DeltaTable(str(warehouse / "panes")).to_pyarrow_table()
    write_deltalake(str(warehouse / "panes"), rows, mode="overwrite", schema_mode="overwrite", partition_by=[])
    told, _ = whole(warehouse)
    assert told == "panes: the table is partitioned by [], but must be by ['report']"


def test_a_result_that_does_not_say_what_it_is(copy: Copy) -> None:
    warehouse = copy("page_views")
    table = DeltaTable(str(warehouse / "page_views"))
    table.alter.set_table_properties({"tidemark.report": "{}"}, raise_if_not_exists=False)
    told, _ = whole(warehouse)
    assert told == "page_views: the table does not tell of which report it is (KeyError: 'windows')"


def test_a_table_that_is_gone(copy: Copy) -> None:
    warehouse = copy("page_views")
    (warehouse / "page_views").rename(warehouse.with_name(f"{warehouse.name}-away"))
    told, _ = whole(warehouse)
    assert told.startswith("page_views: ")
