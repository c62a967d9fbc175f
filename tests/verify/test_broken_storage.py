"""Damaged tables are found by their files, and the invariants that need them are not checked."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.verify.conftest import Copy
from tidemark.command_line.counts import counted
from tidemark.pipeline.verifier.invariants import verify
from tidemark.pipeline.verifier.verification import Finding

pytestmark = pytest.mark.slow


def damage(warehouse: Path) -> tuple[str, dict[str, Finding]]:
    """Returns the violations in the tables' files, and every finding by its name."""
    verification = verify(str(warehouse))
    findings = {finding.name: finding for finding in verification.findings}
    assert not verification.is_sound
    return "\n".join(findings["tables are intact"].violations), findings


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
    violations, findings = damage(warehouse)
    assert violations == f"page_views: the file {file.name} of {size:,} bytes does not exist"
    assert findings["windows have fired, once"].checked == "nothing", "nothing can be asked of it"


def test_a_file_that_is_cut_off(copy: Copy) -> None:
    warehouse = copy("page_views")
    file = data_file(warehouse, "panes")
    data = file.read_bytes()
    file.write_bytes(data[:-100])
    violations, findings = damage(warehouse)
    assert f"has {len(data) - 100:,} bytes, but the log has {len(data)}" in violations
    assert findings["results equal their panes"].notes == ["not checked: panes is damaged"]


def test_a_file_that_is_no_parquet(copy: Copy) -> None:
    warehouse = copy("page_views")
    file = data_file(warehouse, "dead_letters")
    file.write_bytes(b"x" * file.stat().st_size)
    violations, _ = damage(warehouse)
    assert violations.startswith(f"dead_letters: the file {file.name} is no Parquet of ")


def test_a_file_with_other_rows_than_the_log_says(copy: Copy) -> None:
    warehouse = copy("page_views")
    file = data_file(warehouse, "ledger")
    log = next(one for one in (warehouse / "ledger" / "_delta_log").glob("*.json") if file.name in one.read_text())
    rows = pq.read_metadata(file).num_rows
    log.write_text(log.read_text().replace(f'numRecords\\":{rows}', f'numRecords\\":{rows + 6}'))
    violations, _ = damage(warehouse)
    assert violations == f"ledger: the file {file.name} has {counted(rows, 'row')}, but the log has {rows + 6}"


@pytest.mark.parametrize("table", ["ledger", "panes", "page_views"])
def test_a_hole_in_the_log(table: str, copy: Copy) -> None:
    warehouse = copy("page_views")
    entry(warehouse, table, 1).unlink()
    violations, _ = damage(warehouse)
    last = max(int(one.stem) for one in (warehouse / table / "_delta_log").glob("*.json"))
    assert violations == f"{table}: the log has no entry 1, though it has others from 0 to {last}"


@pytest.mark.parametrize("cut", [0, 50])
def test_an_entry_of_the_log_that_is_cut_off(copy: Copy, cut: int) -> None:
    warehouse = copy("page_views")
    last = max((warehouse / "dead_letters" / "_delta_log").glob("*.json"))
    last.write_bytes(last.read_bytes()[:cut])
    violations, _ = damage(warehouse)
    assert f"dead_letters: entry {int(last.stem)} of the log is no list of actions: {cut:,} bytes" in violations


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
    violations, _ = damage(warehouse)
    assert "dead_letters: column detail is int64, but must be string" in violations
    assert "dead_letters: column more is string, but must be absent" in violations


def test_panes_that_are_not_partitioned(copy: Copy) -> None:
    warehouse = copy("page_views")
    rows = DeltaTable(str(warehouse / "panes")).to_pyarrow_table()
    write_deltalake(str(warehouse / "panes"), rows, mode="overwrite", schema_mode="overwrite", partition_by=[])
    violations, _ = damage(warehouse)
    assert violations == "panes: the table is partitioned by [], but must be by ['report']"


def test_a_result_that_does_not_say_what_it_is(copy: Copy) -> None:
    warehouse = copy("page_views")
    table = DeltaTable(str(warehouse / "page_views"))
    table.alter.set_table_properties({"tidemark.report": "{}"}, raise_if_not_exists=False)
    violations, _ = damage(warehouse)
    assert violations == "page_views: the table does not store its report (KeyError: 'windows')"


def test_a_table_that_is_gone(copy: Copy) -> None:
    warehouse = copy("page_views")
    (warehouse / "page_views").rename(warehouse.with_name(f"{warehouse.name}-away"))
    violations, _ = damage(warehouse)
    assert violations.startswith("page_views: ")
