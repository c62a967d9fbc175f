"""A commit that a power cut left incomplete is rolled back; synced commits remain."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tidemark.pipeline.tables.durable import mend
from tidemark.pipeline.tables.handle import Handle

ROWS = pa.table({"number": pa.array([1, 2, 3], pa.int64())})


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """A table with two commits of three rows."""
    DeltaTable.create(str(tmp_path / "it"), ROWS.schema)
    handle = Handle(str(tmp_path / "it"))
    assert handle.swap(ROWS, by=None)
    assert handle.swap(ROWS, by=None)
    return str(tmp_path / "it")


def last_entry(uri: str) -> Path:
    return max(Path(uri, "_delta_log").glob("*.json"))


def last_file(uri: str) -> Path:
    """The file that the last commit added; two may be written within one tick of the clock."""
    actions = map(json.loads, last_entry(uri).read_text().splitlines())
    (added,) = [action["add"]["path"] for action in actions if "add" in action]
    return Path(uri, added)


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def zeroed(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


@pytest.mark.parametrize("harm", [cut, zeroed, Path.unlink, lambda file: os.truncate(file, 0)])
def test_a_commit_whose_data_was_lost_is_taken_back(harm: Callable[[Path], None], uri: str) -> None:
    harm(last_file(uri))
    mend(uri)
    handle = Handle(uri)
    assert (handle.table.version(), handle.table.to_pyarrow_table().num_rows) == (1, 3)
    assert handle.swap(ROWS, by=None)
    assert DeltaTable(uri).to_pyarrow_table().num_rows == 6


@pytest.mark.parametrize("harm", [cut, lambda file: os.truncate(file, 0)])
def test_a_log_entry_that_was_cut_off_is_taken_back(harm: Callable[[Path], None], uri: str) -> None:
    harm(last_entry(uri))
    mend(uri)
    assert DeltaTable(uri).to_pyarrow_table().num_rows == 3


def test_a_commit_is_synced_before_it_is_relied_on_its_files_first(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = list[int]()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    assert Handle(uri).swap(ROWS, by=None)
    order = [last_file(uri), Path(uri), Path(uri).parent, last_entry(uri), Path(uri, "_delta_log")]
    assert synced == [path.stat().st_ino for path in order]


def test_a_table_that_is_whole_is_not_touched(uri: str) -> None:
    before = {file: file.stat().st_mtime_ns for file in Path(uri).rglob("*")}
    mend(uri)
    mend(f"{uri}-which-is-not-there")
    mend("s3://bucket/table")
    assert {file: file.stat().st_mtime_ns for file in Path(uri).rglob("*")} == before
