"""A commit whose answer is lost counts once, and is synced before another commit builds on it."""

import errno
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.rules import Action, Faults, Rule
from tests.support.processes import Process

pytestmark = [pytest.mark.slow, NEEDS_FAULTS]

PATIENCE_S = 600
# Each way in which the pipeline commits, after an append that nothing disturbs.
PROGRAM = """
import sys
import pyarrow as pa
from deltalake import DeltaTable, Transaction
from tidemark.pipeline.tables.files import files_of, read, write
from tidemark.pipeline.tables.handle import Handle

root, how = sys.argv[1:]
rows = pa.table({"number": pa.array([1, 2, 3])})
DeltaTable.create(f"{root}/table", rows.schema)
table = Handle(f"{root}/table")
assert table.swap(rows, by=None)
mine = [Transaction("mine", 1)]


def exchange():
    gone = files_of(table.table, {})
    new = write(table.table, read(table.table, gone), {}, data_change=False)
    return table.exchange(gone, new, by=None, data_change=False)


ways = {
    "append": lambda: table.swap(rows, by=None),
    "replace": lambda: table.swap(rows, "number < 9", by=None, transactions=mine),
    "merge": lambda: table.swap(rows, "number < 9", by=None, transactions=mine, retries=5),
    "append meanwhile": lambda: table.swap(rows, by=None, transactions=mine, retries=5),
    "delete": lambda: table.remove("number = 2", by=None),
    "exchange": exchange,
}
print(ways[how](), table.table.version(), flush=True)
"""
SECOND = "table/_delta_log/*2.json"


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    return Faults(tmp_path / "faults", tmp_path / "root")


def committed(faults: Faults, folder: Path, how: str) -> str:
    """Returns what the second commit says of itself."""
    command = [sys.executable, "-c", PROGRAM, str(folder / "root"), how]
    with Process(command, folder / "said.txt", faults.environment) as process:
        assert process.wait(PATIENCE_S) == 0, process.said
        return process.said.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("how", "rows"),
    [("append", 6), ("replace", 3), ("merge", 3), ("append meanwhile", 6), ("delete", 2), ("exchange", 3)],
)
def test_a_commit_that_landed_and_was_denied_is_known_as_ones_own(
    how: str, rows: int, faults: Faults, tmp_path: Path
) -> None:
    faults.set([Rule("lie", "link", SECOND, Action.LIE, errno.EEXIST)])
    assert committed(faults, tmp_path, how) == "True 2"
    assert faults.struck("lie")
    assert DeltaTable(str(tmp_path / "root" / "table")).to_pyarrow_table().num_rows == rows


def test_data_is_synced_before_its_log_entry_and_both_with_their_folders_before_the_next_commit(
    faults: Faults, tmp_path: Path
) -> None:
    faults.set([Rule("all", "link,fsync", "*", Action.LOG, lasting=True)])
    committed(faults, tmp_path, "append")
    found = [(op, kind_of(path)) for op, path in faults.log("all")]
    links = [place for place, call in enumerate(found) if call == ("link", "entry")]
    assert len(links) >= 2
    # The first commit creates the table, and an empty table is no basis for others.
    for here, after in pairwise([*links[1:], len(found)]):
        synced = [kind for op, kind in found[here:after] if op == "fsync"]
        assert synced.index("data") < synced.index("entry")
        assert {"data", "folder", "entry", "log folder"} <= {*synced}


def kind_of(path: str) -> str:
    name = Path(path).name
    if name.endswith(".parquet"):
        return "data"
    return {"_delta_log": "log folder"}.get(name, "entry" if name.endswith(".json") else "folder")
