"""A copy of the repository in a temporary folder, in which one file at a time is changed and tests run."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutants.catalogue import HERE, ROOT, Mutant
from tidemark.pipeline.runtime.connector import JAR

_PLUGIN: Final = "failure_plugin"
_LINKED: Final = (".venv", ".tools")
_LONGEST_S: Final = 1800
"""Only a mutant that hangs reaches it."""


class Failure(NamedTuple):
    """The first test that failed, its markers, and `assertion` or the type of another error."""

    test: str
    markers: Sequence[str]
    kind: str


class CopiedTree:
    """The files of the repository in a folder, as they are now or at a commit."""

    def __init__(self, folder: Path, commit: str = "") -> None:
        """Copies what git knows and what it would add, without ignored files."""
        self.path = folder / "tree"
        self._failure = folder / "failure.json"
        self._plugins = folder / "plugins"
        self._plugins.mkdir(parents=True)
        shutil.copy(HERE / f"{_PLUGIN}.py", self._plugins)
        self.path.mkdir()
        _copy_commit(commit, self.path) if commit else _copy_files(self.path)
        if JAR.is_file():  # tests compile it again if a source differs
            shutil.copy(JAR, self.path / JAR.relative_to(ROOT))
        self._original = folder / "original"
        shutil.copytree(self.path, self._original, symlinks=True)
        self._second = int(time.time())
        for name in _LINKED:
            if (ROOT / name).exists():
                (self.path / name).symlink_to(ROOT / name)

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Applies a mutant while the context lasts. Raises DoesNotApply."""
        path = self.path / mutant.file
        mutant.apply(self.path)
        # Cached byte code belongs to a source by its size and second.
        self._second += 1
        os.utime(path, (self._second, self._second))
        try:
            yield
        finally:
            shutil.copy2(self._original / mutant.file, path)

    def has(self, test: str) -> bool:
        """Returns whether the file of a test id exists, with its function."""
        name, _, function = test.partition("::")
        path = self.path / name
        return path.exists() and (not function or f"def {function.partition('[')[0]}(" in path.read_text())

    def first_failure(self, test: str) -> Failure | None:
        """Runs a test id, file or folder in a process of its own; None if all pass or nothing was chosen."""
        self._failure.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", test, "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
        command += ["-p", _PLUGIN, "--hypothesis-profile=quick"]
        own_path = os.pathsep.join(map(str, (self.path, self._plugins)))
        environment = {**os.environ, "PYTHONPATH": own_path, "MUTANT_FAILURE": str(self._failure)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        try:
            done = subprocess.run(
                command, cwd=self.path, env=environment, capture_output=True, text=True, timeout=_LONGEST_S, check=False
            )
        except subprocess.TimeoutExpired:
            return Failure(test, (), "TimeoutExpired")
        if self._failure.exists():
            return Failure(**json.loads(self._failure.read_text()))
        if done.returncode == 0:
            return None
        return Failure(test, (), f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-200:]!r}")


def _copy_files(folder: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, folder / name
        if source.is_file() or source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def _copy_commit(commit: str, folder: Path) -> None:
    archive = folder.with_suffix(".tar")
    subprocess.run(["git", "archive", "-o", str(archive), commit], cwd=ROOT, check=True)
    subprocess.run(["tar", "xf", str(archive), "-C", str(folder)], check=True)
    archive.unlink()
