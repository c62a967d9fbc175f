"""Tiny parts as real processes: one that passes, one that fails, and one that is cut off with all that it started."""

import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.nightly import run
from tests.nightly.__main__ import main, play
from tests.nightly.parts import PARTS, Part
from tests.nightly.report import Night
from tests.support.evidence import Run
from tests.support.waiting import wait_for

SUMMARY = """echo '{"count": 3, "failures": {}}' >$TESTS_SUMMARY"""
PATIENCE_S = 300
RUN = Run("2026-01-02", "abc1234")


def part(name: str, script: str) -> Part:
    return Part(name, ("sh", "-c", script), "things", 1)


def rows(folder: Path) -> list[list[str]]:
    """Returns name, verdict and count of each part in the report."""
    table = [line for line in (folder / "report.md").read_text().splitlines() if line.startswith("| ")]
    return [row.strip("| ").split(" | ")[:3] for row in table[1:]]


@pytest.mark.slow
def test_parts_run_one_after_the_other_and_one_that_takes_too_long_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = [tmp_path / name for name in ("child", "of_its_own")]

    def ends(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
        """Returns False once the last part has started its children, or after the short time for its clean-up."""
        has_ended = partial(has_ended_or_started, process, [] if seconds < 1 else pids)
        wait_for(has_ended, PATIENCE_S, "the end of the part, or its children")
        return process.poll() is not None

    monkeypatch.setattr(run, "ends_within", ends)
    for name in ("MAKEFLAGS", "ARGS"):  # of the night; a part's own `make` must not get them
        monkeypatch.setenv(name, " -- ARGS=--hours\\ 6")
    child, own = (f"sh -c 'echo $$ >{pid}.new; mv {pid}.new {pid}; exec sleep 3000'" for pid in pids)
    parts = (
        part("true", f"{SUMMARY}; true"),
        part("false", f"{SUMMARY}; echo broken; false"),
        part("silent", "echo $TESTS_SEED $MAKEFLAGS$ARGS"),
        part("hangs", f"trap '' INT; {SUMMARY}; {child} & setsid {own} & wait"),
    )
    assert play(Night(RUN, "a machine", 7, 1, parts), tmp_path, grace_s=0) == 1
    found = rows(tmp_path)
    assert [name for name, *_ in found] == ["true", "false", "silent", "hangs"]
    assert [verdict for _, verdict, _ in found][:3] == ["passed", "**failed**", "**failed**"]
    assert found[3][1].startswith("cut off after ")
    assert found[3][2] == "3 things"
    assert (tmp_path / "false.log").read_text() == "broken\n"
    assert (tmp_path / "silent.log").read_text() == "7\n"
    for path in pids:
        wait_for(partial(is_gone, int(path.read_text())), PATIENCE_S, f"the end of {path.name}")


def has_ended_or_started(process: "subprocess.Popen[bytes]", pids: list[Path]) -> bool:
    return process.poll() is not None or all(path.exists() for path in pids)


def is_gone(pid: int) -> bool:
    """Returns whether a process has ended; its parent need not have noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
def test_a_part_that_waits_runs_beside_those_in_turn(tmp_path: Path) -> None:
    turn = tmp_path / "turn"
    waits = replace(part("waits", f"until [ -e {turn} ]; do sleep 0.1; done; {SUMMARY}"), is_beside=True)
    assert play(Night(RUN, "a machine", 7, 1, (waits, part("turn", f"{SUMMARY}; touch {turn}"))), tmp_path) == 0
    assert [name for name, *_ in rows(tmp_path)] == ["turn", "waits"]


@pytest.mark.slow
def test_a_part_without_time_is_cut_off_and_has_not_passed(tmp_path: Path) -> None:
    assert play(Night(RUN, "a machine", 7, 0, (part("hangs", "sleep 3000"),)), tmp_path) == 1
    assert rows(tmp_path)[0][1].startswith("cut off after ")


@pytest.mark.slow
def test_a_part_that_passes_alone_ends_with_exit_code_0(tmp_path: Path) -> None:
    assert play(Night(RUN, "a machine", 7, 1, (part("true", SUMMARY),)), tmp_path) == 0


def test_the_list_has_every_part_with_its_share_and_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--hours", "6.5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [part.name for part in PARTS]
    assert "soak         1 h 0 min " in "\n".join(lines)
    assert main(["--only", "dinner"]) == 2
    assert "unknown parts: dinner" in capsys.readouterr().err
