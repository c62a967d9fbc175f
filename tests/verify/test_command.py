"""`tidemark verify` as a command: what it prints, and its exit codes."""

from pathlib import Path

import pytest

from tests.verify.busy_site import busy
from tests.verify.conftest import Copy
from tests.verify.plant import alter, change
from tidemark.pipeline.cli import main
from tidemark.pipeline.verifier.invariants import INVARIANTS, verify

pytestmark = pytest.mark.slow


def test_a_sound_warehouse_is_exit_code_0_and_a_table(sound: Copy, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", f"--warehouse={sound('page_views')}"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("holds") == len(INVARIANTS) + 1
    assert "VIOLATION" not in printed


def test_a_violation_is_exit_code_1_and_a_sentence(copy: Copy, capsys: pytest.CaptureFixture[str]) -> None:
    warehouse = copy("page_views")
    alter(warehouse, "page_views", change({}, clicks=7))
    assert main(["verify", f"--warehouse={warehouse}"]) == 1
    printed = capsys.readouterr().out
    assert (
        "VIOLATION: page_views: window [2024-05-01T12:00:00Z, 2024-05-01T12:10:00Z) of user_id 'ann' shows" in printed
    )
    assert "results equal their panes: 5 violations in all, of which 2 are shown" in printed
    assert "5 VIOLATIONS" in printed


def test_each_count_has_a_noun_in_the_right_number(tmp_path: Path) -> None:
    busy(tmp_path)
    checked = [finding.checked for finding in verify(str(tmp_path)).findings]
    assert "no ids: deduplicate is off" in checked
    counts = [
        text.split(" ")[:3] for part in checked for text in part.split(", ") if text != "no ids: deduplicate is off"
    ]
    assert counts
    for number, *words in counts:
        plural = next((word for word in words if word.endswith("s")), "")
        assert bool(plural) is (number != "1"), (number, words)
        assert not plural.endswith("ss"), words


def test_no_warehouse_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", f"--warehouse={tmp_path}"]) == 2
    assert "there is no Tidemark warehouse" in capsys.readouterr().err
