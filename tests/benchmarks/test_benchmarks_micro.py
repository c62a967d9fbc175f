"""The micro measurements, in small; and the rows they are made of."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from benchmarks import age, driver_cores, micro, totals
from benchmarks.rows import rows_of


def test_a_column_is_one_value_for_all_rows_or_an_array_and_null_if_it_is_not_given() -> None:
    schema = pa.schema([("batch", pa.int64()), ("user", pa.string()), ("url", pa.string())])
    rows = rows_of(schema, 2, {"batch": 7, "user": pa.array(["ann", "bob"])})
    assert rows.to_pylist() == [{"batch": 7, "user": "ann", "url": None}, {"batch": 7, "user": "bob", "url": None}]
    with pytest.raises(ValueError, match="no columns \\['usr'\\]"):
        rows_of(schema, 2, {"usr": "ann"})


@pytest.mark.slow
def test_a_day_is_published_after_its_first_compaction_and_at_the_end(tmp_path: Path) -> None:
    found = micro.day(batches=102, users=3, work=tmp_path)
    # Ten times as many users as rows of a batch: merged they are thirty, and then come the rows of two batches.
    assert {number: (one["files"], one["rows"]) for number, one in found.items()} == {100: (1, 30), 102: (3, 36)}
    assert all(one["seconds"] > 0 for one in found.values())
    assert micro.day_table(found).row_count == 2


@pytest.mark.slow
def test_sessions_are_published_after_ten_batches_and_after_all_since_a_compaction(tmp_path: Path) -> None:
    found = micro.sessions(batches=11, rows=100, work=tmp_path)
    assert {number: one["rows"] for number, one in found.items()} == {10: 2_100, 11: 2_200}
    assert all(one["sessions"] > 0 for one in found.values())
    assert micro.sessions_table(found).row_count == 2


def test_the_table_of_growth_has_a_column_for_each_tenth() -> None:
    assert len(micro.growth_table([0.5] * 10, 600).columns) == 10


def test_the_table_of_a_year_has_its_second_and_its_last_tenth() -> None:
    same = {"seconds": 9.0, "reopening_seconds": 0.5, "python_bytes": 3e8, "rows": 40, "files": 7, "bytes": 2e6}
    found = {100: {**same, "tenths": [0.9, *[0.2] * 8, 0.3]}, 2: {**same, "tenths": [1.0]}}
    columns = {str(column.header): list(column.cells) for column in micro.year_table(found, 300).columns}
    assert columns["s of a batch, 2nd tenth"] == ["0.200", "-"]
    assert columns["last tenth"] == ["0.300", "-"], "two batches have no tenths"


@pytest.mark.slow
def test_a_start_and_the_merging_of_files_are_timed_by_the_age_of_a_ledger(tmp_path: Path) -> None:
    found = age.starts_by_age((50, 2_000), tmp_path)
    # The watermarks of the last hour are read, and no older ones.
    assert {batches: one["watermarks"] for batches, one in found.items()} == {50: 50, 2_000: 2_000}
    assert all(one["tidy_seconds"] > 0 for one in found.values())
    assert age.render(found).row_count == 2


@pytest.mark.slow
def test_a_publication_of_totals_is_held_against_what_changed(tmp_path: Path) -> None:
    found = totals.publications((500,), (5,), tmp_path)
    assert [row["files"] for row in found.values()] == [1, 1]
    assert all(80 < row["amplification"] < 120 for row in found.values()), "all 500 rows for 5"
    assert totals.publications_table(found).row_count == 2


@pytest.mark.slow
def test_the_driver_publishes_every_row_with_each_number_of_cores(tmp_path: Path) -> None:
    found = driver_cores.by_cores(1_000, tmp_path)
    assert [1, len(os.sched_getaffinity(0))] == [min(found), max(found)]
    for cores, figures in found.items():
        assert DeltaTable(tmp_path / f"driver-{cores}" / "page_views").to_pyarrow_table().num_rows == 3_000
        assert figures["write_seconds"] > 0 < figures["publish_seconds"]
    assert driver_cores.render(found).row_count == len(found)
