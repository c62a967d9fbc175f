"""A process whose store holds the publisher ends by its exit code, and not by a signal."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# A call comes back every few microseconds, so one surely does while Python is taken down.
HELD = """
import sys, threading
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from tidemark.pipeline.cli import end
write_deltalake(sys.argv[1], pa.table({"a": [1]}))
is_at_work = threading.Event()
def work():
    while True:
        DeltaTable(sys.argv[1]).version()
        is_at_work.set()
threading.Thread(target=work, name="publisher", daemon=True).start()
is_at_work.wait()
print("done")
end(1)
"""


@pytest.mark.slow
def test_a_publisher_that_is_still_at_work_does_not_tear_the_process_down(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HELD, tmp_path / "table"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "done\n"), ended.stderr
