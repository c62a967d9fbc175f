"""Podman with a storage of its own, on machines without registries, delegated cgroups or the right to raise limits."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidemark" / "podman"
PROGRAMS: Final = ("podman", "buildah", "crun")
_PRINTED: Final = 8000
"""Most characters of a command's output in an error."""
_STORAGE: Final = """[storage]
driver = "overlay"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""
_CONTAINERS: Final = """[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
[engine.runtimes]
crun = ["{folder}/crun"]
"""
_CRUN: Final = """#!{python}
# crun for a user who may not raise limits of processes: removes `process.rlimits` from the configuration. On kernels
# with both versions of control groups, which crun refuses, it does not see the second.
import json, os, pathlib, sys
words = sys.argv[1:]
for place, word in enumerate(words):
    option, _, value = word.partition("=")
    if option in ("-b", "--bundle", "-p", "--process"):
        path = pathlib.Path(value or words[place + 1])
        file = path / "config.json" if path.is_dir() else path
        config = json.loads(file.read_text())
        config.get("process", config).pop("rlimits", None)
        file.write_text(json.dumps(config))
hide = 'umount --lazy /sys/fs/cgroup/unified 2>/dev/null; exec "$0" "$@"'
os.execvp("unshare", ["unshare", "--mount", "sh", "-c", hide, "{crun}", *words])
"""


def missing_programs() -> list[str]:
    """Returns the programs that building and running containers needs, and that are not on PATH."""
    return [name for name in PROGRAMS if not shutil.which(name)]


@cache
def environment() -> dict[str, str]:
    """Writes podman's configuration, and returns the variables that select it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "storage.conf").write_text(_STORAGE.format(folder=FOLDER))
    (FOLDER / "containers.conf").write_text(_CONTAINERS.format(folder=FOLDER))
    runtime = FOLDER / "crun"
    runtime.write_text(_CRUN.format(python=sys.executable, crun=shutil.which("crun")))
    runtime.chmod(0o755)
    configured = {
        "CONTAINERS_STORAGE_CONF": str(FOLDER / "storage.conf"),
        "CONTAINERS_CONF": str(FOLDER / "containers.conf"),
    }
    return {**os.environ, **configured}


def podman(*words: str | Path, seconds: float | None = None, errors: bool = False) -> str:
    """Returns the output of a command of podman, after its `errors`. Raises RuntimeError with what it printed."""
    command = ["podman", *map(str, words)]
    done = subprocess.run(command, env=environment(), check=False, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        printed = (done.stdout + done.stderr)[-_PRINTED:]
        raise RuntimeError(f"`podman {words[0]}` ended with exit code {done.returncode}: {printed}")
    return ((done.stderr if errors else "") + done.stdout).strip()


def has_image(name: str) -> bool:
    """Returns whether the storage has an image."""
    command = ["podman", "image", "exists", name]
    return subprocess.run(command, env=environment(), check=False).returncode == 0
