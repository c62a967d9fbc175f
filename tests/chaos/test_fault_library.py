"""Faults at the calls with which delta-rs really writes: each does what its rule says, and nothing else."""

import errno
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.rules import Action, Faults, Rule
from tests.support.processes import Process
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.slow, NEEDS_FAULTS]

PATIENCE_S = 600
LOG_ENTRY = "table/_delta_log/*.json"
DATA = "table/part-*"
# Each word of the command line is a step; what a step raises is printed, and the next one follows.
PROGRAM = """
import sys
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

root, *steps = sys.argv[1:]
rows = pa.table({"number": pa.array([1, 2, 3])})
once = CommitProperties(max_commit_retries=0)
table = DeltaTable.create(f"{root}/table", rows.schema, mode="ignore")
acts = {
    "append": lambda: write_deltalake(table, rows, mode="append", commit_properties=once),
    "replace": lambda: write_deltalake(table, rows, mode="overwrite", predicate="number < 9", commit_properties=once),
    "delete": lambda: table.delete("number = 2"),
    "vacuum": lambda: table.vacuum(0, dry_run=False, enforce_retention_duration=False),
}
for step in steps:
    try:
        acts[step]()
        print(step, "done", flush=True)
    except Exception as error:
        print(step, "failed", type(error).__name__, " ".join(str(error).split()), flush=True)
"""
STEPS = ("append", "replace", "delete", "vacuum")


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    return Faults(tmp_path / "faults", tmp_path / "root")


@contextmanager
def writing(faults: Faults, folder: Path, *steps: str) -> Iterator[Process]:
    """A process that takes the steps on a table of its own, under the rules."""
    command = [sys.executable, "-c", PROGRAM, str(folder / "root"), *steps]
    with Process(command, folder / "said.txt", faults.environment) as process:
        yield process


def outcomes(faults: Faults, folder: Path, *steps: str) -> list[str]:
    """Returns the outcome of each step, once all are done."""
    with writing(faults, folder, *steps) as process:
        assert process.wait(PATIENCE_S) == 0, process.said
        return [line for line in process.said.splitlines() if line.startswith(STEPS)]  # delta-rs may say something, too


def version(folder: Path) -> int:
    return DeltaTable(str(folder / "root" / "table")).version()


def test_without_rules_nothing_happens(faults: Faults, tmp_path: Path) -> None:
    assert outcomes(faults, tmp_path, "append", "replace", "delete") == ["append done", "replace done", "delete done"]


def test_a_held_commit_waits_and_no_reader_sees_it_until_it_goes_on(faults: Faults, tmp_path: Path) -> None:
    faults.set([Rule("point", "link", LOG_ENTRY, Action.HOLD, nth=2)])
    with writing(faults, tmp_path, "append") as process:
        wait_for(lambda: faults.struck("point"), PATIENCE_S, "the commit")
        assert version(tmp_path) == 0
        assert process.said == ""
        faults.go("point")
        assert process.wait(PATIENCE_S) == 0
    assert version(tmp_path) == 1


def test_a_process_killed_where_it_is_held_has_not_done_it(faults: Faults, tmp_path: Path) -> None:
    faults.set([Rule("point", "link", LOG_ENTRY, Action.HOLD, nth=2)])
    with writing(faults, tmp_path, "append") as process:
        wait_for(lambda: faults.struck("point"), PATIENCE_S, "the commit")
        process.kill()
    assert version(tmp_path) == 0


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize(
    ("op", "path"), [("create", DATA), ("write", DATA), ("rename", DATA), ("write", LOG_ENTRY + "#*")]
)
def test_a_refused_call_fails_its_commit_and_the_next_one_is_well(
    faults: Faults, tmp_path: Path, op: str, path: str, error: int
) -> None:
    nth = 2 if path.startswith(LOG_ENTRY) else 1
    faults.set([Rule("point", op, path, Action.FAIL, error, nth=nth)])
    first, second = outcomes(faults, tmp_path, "append", "append")
    assert first.startswith("append failed")
    assert f"os error {error}" in first
    assert second == "append done"
    assert version(tmp_path) == 1


def test_a_denied_link_has_committed(faults: Faults, tmp_path: Path) -> None:
    faults.set([Rule("point", "link", LOG_ENTRY, Action.LIE, errno.EEXIST, nth=2)])
    (first,) = outcomes(faults, tmp_path, "append")
    assert first.startswith("append failed CommitFailedError")
    assert version(tmp_path) == 1


def test_what_lasts_is_refused_until_it_is_ended(faults: Faults, tmp_path: Path) -> None:
    hold = Rule("hold", "create", DATA, Action.HOLD, nth=3)
    full = Rule("full", "create,write", "*", Action.FAIL, errno.ENOSPC, after="first", lasting=True)
    faults.set([hold, Rule("first", "link", LOG_ENTRY, Action.MARK), full])
    with writing(faults, tmp_path, "append", "append", "append") as process:
        wait_for(lambda: faults.struck("hold"), PATIENCE_S, "the third attempt")
        faults.end("full")
        faults.go("hold")
        assert process.wait(PATIENCE_S) == 0
        assert [line.split()[1] for line in process.said.splitlines() if line.startswith(STEPS)] == [
            "failed",
            "failed",
            "done",
        ]


def test_a_rule_counts_only_files_that_hold_its_text(faults: Faults, tmp_path: Path) -> None:
    faults.set([Rule("point", "link", LOG_ENTRY, Action.FAIL, text='"remove"')])
    became = [line.split()[:2] for line in outcomes(faults, tmp_path, "append", "append", "replace", "replace")]
    assert became == [["append", "done"], ["append", "done"], ["replace", "failed"], ["replace", "done"]]


def test_a_rule_after_another_waits_for_it(faults: Faults, tmp_path: Path) -> None:
    mark = Rule("removed", "link", LOG_ENTRY, Action.MARK, text='"remove"')
    faults.set([mark, Rule("point", "create", DATA, Action.FAIL, after="removed")])
    became = [line.split()[:2] for line in outcomes(faults, tmp_path, "append", "replace", "append", "append")]
    assert became == [["append", "done"], ["replace", "done"], ["append", "failed"], ["append", "done"]]


def test_a_vacuum_can_be_refused_where_it_removes_files(faults: Faults, tmp_path: Path) -> None:
    faults.set([Rule("point", "unlink", DATA, Action.FAIL)])
    became = [line.split()[:2] for line in outcomes(faults, tmp_path, "append", "replace", "vacuum")]
    assert became == [["append", "done"], ["replace", "done"], ["vacuum", "failed"]]
    assert faults.struck("point")


def test_the_log_has_the_order_of_calls(faults: Faults, tmp_path: Path) -> None:
    faults.set([Rule("all", "create,rename,link,unlink", "*", Action.LOG, lasting=True)])
    outcomes(faults, tmp_path, "append")
    found = [(op, kind_of(path)) for op, path in faults.log("all") if "part-" in path or "001.json" in path]
    assert found == [
        ("create", "data, unfinished"),
        ("rename", "data"),
        ("create", "log, unfinished"),
        ("link", "log"),
        ("unlink", "log, unfinished"),
    ]


def kind_of(path: str) -> str:
    unfinished = ", unfinished" if "#" in path else ""
    return ("data" if "part-" in path else "log") + unfinished


def test_synced_files_and_folders_are_in_the_log_by_their_paths(faults: Faults, tmp_path: Path) -> None:
    faults.set([Rule("all", "fsync,write,close", "*", Action.LOG, lasting=True)])
    program = (
        "import os, sys\n"
        "for path, flags in ((sys.argv[1] + '/file', os.O_CREAT | os.O_WRONLY), (sys.argv[1], os.O_RDONLY)):\n"
        "    fd = os.open(path, flags)\n"
        "    flags and os.write(fd, b'x')\n"
        "    os.fsync(fd)\n"
        "    os.close(fd)\n"
    )
    folder = tmp_path / "root" / "folder"
    folder.mkdir(parents=True)
    run_python(faults, program, str(folder))
    file = [("write", "folder/file"), ("fsync", "folder/file"), ("close", "folder/file")]
    assert faults.log("all") == [*file, ("fsync", "folder"), ("close", "folder")]


def test_other_programs_know_nothing_of_it(faults: Faults, tmp_path: Path) -> None:
    faults.set([Rule("all", "*", "*", Action.FAIL, lasting=True)])
    (tmp_path / "root").mkdir()
    program = "import subprocess, sys; sys.exit(subprocess.run(['touch', sys.argv[1]]).returncode)"
    run_python(faults, program, str(tmp_path / "root" / "file"))
    assert (tmp_path / "root" / "file").exists()
    assert not faults.struck("all")


def run_python(faults: Faults, program: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", program, *arguments], env={**faults.environment}, check=True)
