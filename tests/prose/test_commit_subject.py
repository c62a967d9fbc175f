"""The hook refuses a commit subject that is too long or not imperative."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dev.commit_subject import LONGEST, fault

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "subject",
    ["Add a verb", "Pass the clock", "Bring back the lock", "Say how", "Merge branch 'x'", "Add " + "x" * 68],
)
def test_a_short_imperative_is_taken(subject: str) -> None:
    assert fault(subject) is None


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        ("Add " + "x" * 69, f"has 73 characters, of at most {LONGEST}"),
        ("Added a verb", "not with 'Added'"),
        ("Adding a verb", "not with 'Adding'"),
        ("Adds a verb", "not with 'Adds'"),
        ("The verb is added", "not with 'The'"),
        ("add a verb", "capital letter"),
        ("Add a verb.", "full stop"),
        ("", "capital letter"),
    ],
)
def test_a_subject_that_is_refused_has_a_reason(subject: str, reason: str) -> None:
    assert reason in (fault(subject) or "")


def test_the_hook_reads_the_file_of_a_message_and_is_installed(tmp_path: Path) -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    (hook,) = [hook for hook in config["repos"][0]["hooks"] if hook.get("stages") == ["commit-msg"]]
    assert "commit-msg" in config["default_install_hook_types"]
    assert hook["entry"] == ".venv/bin/python -m dev.commit_subject"
    for message, refused in (("Add a verb\n\nIt was missing.\n", False), ("Added a verb\n", True)):
        (tmp_path / "message").write_text(message)
        command = [sys.executable, "-m", "dev.commit_subject", str(tmp_path / "message")]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (run.returncode != 0, "commit message: " in run.stderr) == (refused, refused)
