"""Handles that are used again show what new handles of delta-rs would show."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
# In a process of its own, because it wraps the calls of delta-rs.
SCRIPT = """
import sys
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from tests.simulation import spares

new = DeltaTable.__init__
transaction, uri = DeltaTable.transaction_version, sys.argv[1]

def add(number):
    done = CommitProperties(app_transactions=[Transaction("app", number)])
    write_deltalake(uri, pa.table({"a": [number]}), mode="append", commit_properties=done)

def seen(table):
    return table.version(), sorted(pa.table(table.get_add_actions())["path"].to_pylist())

add(1)
spares.install()
for number in range(2, 6):
    kept = DeltaTable(uri)
    add(number)
    again, real = DeltaTable(uri), DeltaTable.__new__(DeltaTable)
    new(real, uri)
    assert seen(again) == seen(real) != seen(kept)
    assert again.transaction_version("app") == transaction(real, "app") == number
    assert kept.transaction_version("app") == number - 1
    assert again.transaction_version("none") is None
    kept.update_incremental()
    assert seen(kept) == seen(real)
    assert DeltaTable(uri, version=0).version() == 0
    del kept, again
print("equal")
"""


def test_a_handle_that_is_used_again_equals_a_new_handle(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "table")]
    played = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert played.stdout == "equal\n", played.stderr
