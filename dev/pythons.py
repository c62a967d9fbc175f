"""Prints the oldest or the newest supported Python of this machine: `python3 -m dev.pythons oldest`.

Looks in the folders of PATH and in pyenv's. Uses the standard library only.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from dev.environment import OLDEST_PYTHON, ROOT

_VERSION: Final = "import sys; print(*sys.version_info[:3], sys.prefix == sys.base_prefix)"
Version = tuple[int, ...]


def newest_supported() -> Version:
    """Returns the newest version, as (3, 13), that the metadata names: the newest that PySpark supports."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    matches = (re.fullmatch(r"Programming Language :: Python :: (3)\.(\d+)", line) for line in classifiers)
    return max(tuple(map(int, match.groups())) for match in matches if match)


def pythons(folders: Iterable[Path]) -> dict[Version, Path]:
    """Returns the supported interpreters in `folders` by version, without those of virtual environments."""
    newest = newest_supported()
    names = ["python3", *(f"python3.{minor}" for minor in range(OLDEST_PYTHON[1], newest[1] + 1))]
    versions = {
        path: _version(path) for folder in folders for name in names if os.access(path := folder / name, os.X_OK)
    }
    return {version: path for path, version in versions.items() if version >= OLDEST_PYTHON and version[:2] <= newest}


def _version(path: Path) -> Version:
    """Returns the version of an interpreter; () if it does not run, or belongs to a virtual environment."""
    done = subprocess.run([path, "-c", _VERSION], capture_output=True, text=True, check=False)
    *version, is_own = done.stdout.split() or ["False"]
    return tuple(map(int, version)) if is_own == "True" else ()


def main(arguments: Sequence[str]) -> int:
    """Prints the path of the `oldest` or `newest` interpreter; returns 2 if this machine has no supported one."""
    folders = [*map(Path, os.get_exec_path()), *(Path.home() / ".pyenv" / "versions").glob("*/bin")]
    found = pythons(folders)
    if not found:
        oldest, newest = (".".join(map(str, version)) for version in (OLDEST_PYTHON, newest_supported()))
        sys.stderr.write(f"no Python from {oldest} to {newest} is on PATH or in ~/.pyenv/versions\n")
        return 2
    version = {"oldest": min, "newest": max}[arguments[0]](found)
    sys.stdout.write(f"{found[version]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
