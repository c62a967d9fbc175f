"""The wheel in an environment of its own, and its programs with the fewest variables."""

import fcntl
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

import pyspark

from dev.environment import ROOT, find_uv, uv_environment
from tidemark.pipeline.runtime.jars import cache
from tidemark.pipeline.runtime.java import find_java

NO_HOME: Final = "/proc"
"""No user can create a file in it, not even root."""
NO_MIRROR: Final = "http://127.0.0.1:1/maven2"


def shared_environment(base: Path) -> Path:
    """Returns the environment of a test run; `base` is the folder of temporary files of this worker.

    The first worker makes it, and the others wait for it. Tests must not change it.
    """
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wheel"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_made = folder / "is-made"
        if not is_made.exists():
            _install_wheel(folder)
            is_made.touch()
    return folder / "env"


def _install_wheel(folder: Path) -> None:
    """Makes an environment with the wheel, and with the dependencies of this environment, which saves minutes."""
    uv, options = find_uv() or "uv", ["--offline", "--quiet", "--python"]
    wheel = ["build", "--wheel", "--no-cache", f"--out-dir={folder}", *options, sys.executable, str(ROOT)]
    subprocess.run([uv, *wheel], env=uv_environment(), check=True)
    venv.create(folder / "env", symlinks=True)
    install = ["pip", "install", "--no-deps", *options, str(folder / "env"), *map(str, folder.glob("*.whl"))]
    subprocess.run([uv, *install], cwd=folder, env=uv_environment(), check=True)
    (packages,) = (folder / "env").glob("lib/python3*/site-packages")
    (packages / "dependencies.pth").write_text(str(Path(pyspark.__file__).parents[1]))
    (folder / "env" / "bin" / "duckdb").symlink_to(Path(sys.executable).with_name("duckdb"))


def java_variables() -> dict[str, str]:
    """Returns the variables that name this machine's Java and jars."""
    return {"JAVA_HOME": str(find_java()), "TIDEMARK_JARS_CACHE": os.fspath(cache())}


def run(environment: Path, folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of the environment with the fewest variables."""
    bare = {"PATH": "/usr/bin:/bin", "HOME": NO_HOME, "TMPDIR": str(folder), "TIDEMARK_MAVEN_MIRROR": NO_MIRROR}
    return subprocess.run(
        [environment / "bin" / words[0], *words[1:]],
        cwd=folder,
        env={**bare, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
