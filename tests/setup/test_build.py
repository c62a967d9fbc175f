"""Build dependencies are locked by hash, like all others, and a build can fetch nothing else."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dev.environment import ROOT, find_uv, sync, uv_environment

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", each)[0] for each in requirements}


def packages(lock: str) -> Callable[[str], dict[str, Any]]:
    """Returns the entry of a package by its name. Only what is asked for is parsed: the whole lock takes long."""
    entries = {entry.split('"')[1]: entry for entry in lock.split("[[package]]\n")[1:]}
    return cache(lambda name: tomllib.loads(f"[[package]]\n{entries[name]}")["package"][0])


def test_the_back_end_is_in_the_group_that_is_installed_first() -> None:
    assert names(PROJECT["build-system"]["requires"]) <= names(PROJECT["dependency-groups"]["build"])


def test_all_that_builds_is_locked_by_its_hashes() -> None:
    found, open_ones = set[str](), names(PROJECT["dependency-groups"]["build"])
    locked = packages((ROOT / "uv.lock").read_text())
    while open_ones:
        found |= open_ones
        needed = {each["name"] for name in open_ones for each in locked(name).get("dependencies", [])}
        open_ones = needed - found
    for name in found:
        files = [locked(name)["sdist"], *locked(name)["wheels"]]
        assert all(file["hash"].startswith("sha256:") for file in files)


@pytest.mark.slow
def test_a_build_fetches_nothing(tmp_path: Path) -> None:
    """Without a network and a cache, what is in the environment is enough, and of it the locked back end alone."""
    line = [find_uv() or "uv", "build", "--wheel", "--offline", "--no-cache", "--out-dir", str(tmp_path)]
    done = subprocess.run(
        [*line, "--python", sys.executable], cwd=ROOT, env=uv_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [file.suffix for file in tmp_path.iterdir() if file.name[0] != "."] == [".whl"]


def test_the_environment_gets_what_builds_before_what_is_built(tmp_path: Path) -> None:
    uv, calls = tmp_path / "uv", tmp_path / "calls"
    uv.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    uv.chmod(0o755)
    assert sync(str(uv)) == 0
    locked = f"sync --locked --python {os.fspath(sys.executable)}"
    assert calls.read_text().splitlines() == [f"{locked} --only-group build --inexact", locked]
