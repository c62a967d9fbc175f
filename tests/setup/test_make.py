"""The Makefile makes environments with the Python that a person names, and again only if that is another one."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from dev.environment import ROOT

# Answers for its version, and records what it runs. The environment that it sets up has it as its interpreter.
INTERPRETER: Final = """#!/bin/sh
case "$*" in
*sys.version.split*) echo "{version}" ;;
*_base_executable*) echo "{path}" ;;
*version_info*) ;;
-m*) echo "{version} $*" >> calls ;;
*) folder=${{TIDEMARK_ENVIRONMENT:-.venv}}; echo "{version} $folder $*" >> calls
   mkdir -p $folder/bin; ln -sf {path} $folder/bin/python ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the Makefile, and with two interpreters that are not on PATH."""
    for name in ("Makefile", "pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "dev").mkdir()
    shutil.copy(ROOT / "dev" / "environment.py", tmp_path / "dev")
    for version in ("3.11.2", "3.13.0"):
        path = tmp_path / version
        path.write_text(INTERPRETER.format(version=version, path=path))
        path.chmod(0o755)
    return tmp_path


def make(folder: Path, *words: str, **variables: str) -> list[str]:
    """Returns the calls of interpreters: `version folder arguments` of a set-up, `version arguments` of a module."""
    calls = folder / "calls"
    calls.write_text("")
    subprocess.run(["make", "--silent", *words], cwd=folder, env={"PATH": os.environ["PATH"], **variables}, check=True)
    return calls.read_text().splitlines()


def test_an_environment_is_made_again_if_python_is_another(folder: Path) -> None:
    stamp = ".venv/.synced"
    old, new = ([f"{version} .venv dev/environment.py"] for version in ("3.11.2", "3.13.0"))
    assert make(folder, stamp, "PYTHON=./3.11.2") == old
    assert make(folder, stamp, "PYTHON=./3.11.2") == []
    assert make(folder, stamp) == []
    assert make(folder, stamp, "PYTHON=./3.13.0") == new
    assert make(folder, stamp, PYTHON="./3.13.0") == []
    assert make(folder, stamp, PYTHON="./3.11.2") == old


def test_an_environment_that_is_out_of_date_keeps_its_python(folder: Path) -> None:
    stamp = ".venv/.synced"
    made = make(folder, stamp, "PYTHON=./3.13.0")
    os.utime(folder / stamp, (0, 0))
    assert make(folder, stamp) == made


def test_a_release_is_built_in_an_environment_of_its_own(folder: Path) -> None:
    calls = make(folder, "release", "PYTHON=./3.11.2", "ARGS=--check --no-image")
    assert calls == [
        "3.11.2 .venv-release dev/environment.py --no-dev --group build",
        "3.11.2 -m dev.release --check --no-image",
    ]
    assert not (folder / ".venv").exists()
    assert make(folder, "release", "PYTHON=./3.13.0")[0].startswith("3.13.0 .venv-release dev/environment.py")


def test_the_fast_tests_run_with_another_python_in_its_own_environment(folder: Path) -> None:
    calls = make(folder, "test-fast-on", "PYTHON_UNDER_TEST=./3.13.0", "ENVIRONMENT_UNDER_TEST=.venv-newest")
    assert calls[0] == "3.13.0 .venv-newest dev/environment.py"
    assert calls[1].startswith("3.13.0 -m pytest -n auto -m not jvm and not broker and not slow")
