"""Builds the files of a release from the last commit into dist/: `python -m dev.release`. Publishes and tags nothing.

The files of a commit are the same, byte by byte, at each build in one environment: `--check` builds twice and compares.
With an engine for containers it also builds the image, which is not reproducible.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Final

from dev.audit import disallowed, sbom
from dev.connector import SOURCES, refresh
from dev.environment import ROOT, find_uv, uv_environment
from dev.image import NAME, build_with_engine
from dev.unpack import unpack
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.connector import JAR

DIST: Final = ROOT / "dist"
SUMS: Final = "SHA256SUMS"
_CHART: Final = "deploy/helm/tidemark"
_FILE_MODE: Final = 0o644


def build(target: Path) -> list[Path]:
    """Builds sdist, wheel, chart, bill of materials and checksums of the last commit into `target`.

    Raises SetUpError if a build fails, or a licence is not allowed.
    """
    target.mkdir(parents=True, exist_ok=True)
    for old in target.iterdir():
        if old.is_file():
            old.unlink()
    epoch_s = int(_git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        with tarfile.open(fileobj=BytesIO(_git_bytes("archive", "--format=tar", "HEAD"))) as archive:
            unpack(archive, source)
        refresh(source / JAR.relative_to(ROOT), source / SOURCES.name)
        project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
        _build_python(source, target, epoch_s)
        chart = _chart(source / _CHART, epoch_s)
        (target / f"tidemark-{project['version']}.tgz").write_bytes(chart)
    bill = target / f"{project['name']}-{project['version']}.cdx.json"
    bill.write_text(_bill(epoch_s))
    files = sorted(path for path in target.iterdir() if path.name[0] != ".")
    sums = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (target / SUMS).write_text("".join(sums))
    return [*files, target / SUMS]


def _build_python(source: Path, target: Path, epoch_s: int) -> None:
    """Builds the sdist, and the wheel from it, with the locked back end of this environment."""
    uv = [find_uv() or "uv", "build", "--quiet", "--offline", "--no-cache", "--python", sys.executable]
    environment = {**uv_environment(), "SOURCE_DATE_EPOCH": str(epoch_s)}
    done = subprocess.run(
        [*uv, "--out-dir", str(target), str(source)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SetUpError(f"the wheel cannot be built: {done.stderr.strip()}")
    (target / ".gitignore").unlink(missing_ok=True)


def _chart(folder: Path, epoch_s: int) -> bytes:
    """Returns the chart as Helm packages it, with fixed times, owners and modes."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(f"{folder.name}/{path.relative_to(folder).as_posix()}")
            entry.size, entry.mtime, entry.mode = path.stat().st_size, epoch_s, _FILE_MODE
            archive.addfile(entry, BytesIO(path.read_bytes()))
    return gzip.compress(packed.getvalue(), mtime=epoch_s)


def _bill(epoch_s: int) -> str:
    """Returns the bill of materials, with the time of the commit and a number made from its content."""
    bill = sbom()
    if problems := disallowed(bill):
        raise SetUpError("; ".join(problems))
    bill["metadata"]["timestamp"] = datetime.fromtimestamp(epoch_s, UTC).isoformat().replace("+00:00", "Z")
    bill.pop("serialNumber", None)
    content = json.dumps(bill, indent=2, sort_keys=True)
    number = uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(content.encode()).hexdigest())
    return json.dumps({**bill, "serialNumber": f"urn:uuid:{number}"}, indent=2, sort_keys=True) + "\n"


def open_points() -> Iterator[str]:
    """Yields what is left to do before the tag."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if _git("status", "--porcelain"):
        yield "the work tree has changes that are not in these files: commit or remove them"
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, _git("show", "HEAD:CHANGELOG.md"), re.MULTILINE):
        yield f"CHANGELOG.md has no section [{version}] with a date"
    if f"v{version}" in _git("tag", "--list").split():
        yield f"the tag v{version} exists: raise the version"


def _git(*words: str) -> str:
    return _git_bytes(*words).decode().strip()


def _git_bytes(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise SetUpError(f"`git {words[0]}` failed: {done.stderr.decode().strip()}")
    return done.stdout


def differences(first: Path, second: Path) -> list[str]:
    """Builds twice, with different rights of new files; returns the lines of checksums that differ."""
    build(first)
    before = os.umask(0o077)
    try:
        build(second)
    finally:
        os.umask(before)
    sums = [set((folder / SUMS).read_text().splitlines()) for folder in (first, second)]
    return sorted(sums[0] ^ sums[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds, or with `--check` compares two builds; returns 1 if they differ, 2 if a build fails."""
    parser = argparse.ArgumentParser(prog="python -m dev.release", description="Build the files of a release.")
    parser.add_argument("--check", action="store_true", help="build twice and compare; write nothing to dist/")
    parser.add_argument("--no-image", action="store_true", help="leave out the image")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.check:
            with tempfile.TemporaryDirectory() as folder:
                different = differences(Path(folder, "first"), Path(folder, "second"))
            sys.stdout.write("\n".join(["the builds differ:", *different] if different else ["both are equal"]) + "\n")
            return int(bool(different))
        files = build(DIST)
        image = "left out" if chosen.no_image else build_with_engine()
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    lines = [*(f"{file.relative_to(ROOT)}  {file.stat().st_size:,} bytes" for file in files), f"image {NAME}: {image}"]
    sys.stdout.write("\n".join([*lines, *(f"before the tag: {point}" for point in open_points())]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
