"""A commit whose answer is lost counts once, and is synced before anything stands on it."""

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

PATIENCE_S = 60
# Each way in which the pipeline commits, after an append that nothing disturbs.
PROGRAM = """
import sys
from functools import partial
import pyarrow as pa
from deltalake import DeltaTable, Transaction, write_deltalake
from pipeline.tables.swap import attempt, swap

root, how = sys.argv[1:]
rows = pa.table({"number": pa.array([1, 2, 3])})
table = DeltaTable.create(f"{root}/table", rows.schema)
assert swap(table, rows)
mine = [Transaction("mine", 1)]
ways = {
    "append": lambda: swap(table, rows),
    "replace": lambda: swap(table, rows, "number < 9", mine),
    "merge": lambda: attempt(
        table,
        partial(write_deltalake, table, rows, mode="overwrite", predicate="number < 9"),
        mine,
        retries=5,
    ),
    "append beside": lambda: attempt(
        table,
        partial(write_deltalake, table, rows, mode="append"),
        mine,
        retries=5,
    ),
    "delete": lambda: attempt(table, partial(table.delete, "number = 2")),
}
print(ways[how](), table.version(), flush=True)
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
    ("how", "rows"), [("append", 6), ("replace", 3), ("merge", 3), ("append beside", 6), ("delete", 2)]
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
    # The first makes the table, and nothing stands on an empty one.
    for here, after in pairwise([*links[1:], len(found)]):
        synced = [kind for op, kind in found[here:after] if op == "fsync"]
        assert synced.index("data") < synced.index("entry")
        assert {"data", "folder", "entry", "log folder"} <= {*synced}


def kind_of(path: str) -> str:
    name = Path(path).name
    if name.endswith(".parquet"):
        return "data"
    return {"_delta_log": "log folder"}.get(name, "entry" if name.endswith(".json") else "folder")
