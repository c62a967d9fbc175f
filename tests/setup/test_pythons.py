"""The oldest and the newest Python are the same in the metadata, the documents, the build and the tests."""

import re
import tomllib
from pathlib import Path

import pytest

from dev import pythons
from dev.environment import OLDEST_PYTHON, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OLDEST = PROJECT["requires-python"].removeprefix(">=")
NEWEST = ".".join(map(str, pythons.newest_supported()))


def test_the_set_up_takes_what_the_metadata_takes() -> None:
    assert ".".join(map(str, OLDEST_PYTHON)) == OLDEST
    assert f"sys.version_info < ({OLDEST.replace('.', ', ')})" in (ROOT / "Makefile").read_text()
    locked = re.search(r'^requires-python = "(.+)"$', (ROOT / "uv.lock").read_text(), re.MULTILINE)
    assert locked
    assert locked[1] == PROJECT["requires-python"]


@pytest.mark.parametrize("name", ["README.md", "docs/start.md"])
def test_a_document_names_the_oldest_and_the_newest(name: str) -> None:
    assert f"Python {OLDEST} to {NEWEST}" in re.sub(r"\s+", " ", (ROOT / name).read_text())


def interpreter(path: Path, answer: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{answer}\n")
    path.chmod(0o755)


def test_the_oldest_and_the_newest_of_a_machine_are_supported_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    interpreter(folders[0] / "python3", "echo 3 11 1 True")
    interpreter(folders[0] / "python3.11", "echo 3 11 9 True")
    interpreter(folders[0] / "python3.12", "exit 127")
    interpreter(folders[0] / "python3.13", "echo 3 13 9 False")
    interpreter(folders[1] / "python3.11", "echo 3 11 2 True")
    interpreter(folders[1] / "python3.13", "echo 3 13 0 True")
    interpreter(folders[1] / "python3", "echo 3 14 0 True")
    monkeypatch.setenv("PATH", str(folders[0]))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    pyenv = tmp_path / "home" / ".pyenv" / "versions" / "any"
    pyenv.mkdir(parents=True)
    (pyenv / "bin").symlink_to(folders[1])
    assert [pythons.main([age]) for age in ("oldest", "newest")] == [0, 0]
    assert capsys.readouterr().out.split() == [str(pyenv / "bin" / name) for name in ("python3.11", "python3.13")]


def test_a_machine_without_any_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert pythons.main(["oldest"]) == 2
    assert capsys.readouterr().err == f"no Python from {OLDEST} to {NEWEST} is on PATH or in ~/.pyenv/versions\n"
