"""The folder for temporary files: its owner's alone, and removed by a later process only when the owner has ended."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.support.processes import tidemark
from tidemark.pipeline.runtime.scratch import remove_abandoned


def test_a_folder_is_removed_once_its_lock_is_free(tmp_path: Path) -> None:
    used, left = tmp_path / "tidemark-scratch-used", tmp_path / "tidemark-scratch-left"
    for folder in (used, left):
        (folder / "blockmgr-1").mkdir(parents=True)
    descriptor = os.open(used, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    remove_abandoned(tmp_path)
    os.close(descriptor)
    assert [path.name for path in tmp_path.iterdir()] == [used.name]
    remove_abandoned(tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_a_link_is_not_followed_and_other_folders_stay(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tidemark-scratch-link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "tidemark-1").mkdir()
    remove_abandoned(tmp_path)
    assert len([*tmp_path.iterdir()]) == 3


@pytest.mark.slow
def test_a_command_such_as_erase_removes_the_files_of_a_killed_command(tmp_path: Path) -> None:
    (tmp_path / "tidemark-scratch-left").mkdir()
    with tidemark(tmp_path / "log", "erase", "--help", driver={"TMPDIR": str(tmp_path)}) as process:
        assert process.wait() == 0, process.said
    assert not (tmp_path / "tidemark-scratch-left").exists()
