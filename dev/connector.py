"""Compiles the Java sources in `connector` into the package: `python -m dev.connector`.

Eclipse's compiler is a jar that needs a Java to run in, but no JDK. The same sources make the same bytes. The jar's
comment is a hash of all that it is compiled from.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tidemark.pipeline.errors import SetUpError, exit_code_of
from tidemark.pipeline.runtime.connector import JAR
from tidemark.pipeline.runtime.jars import cache, jars_of, listed, locked, mirror, only_one, provide
from tidemark.pipeline.runtime.java import find_java

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ROOT / "connector"
LOCK: Final = Path(__file__).with_name("compiler.lock")
_LONGEST_S: Final = 300


def refresh(jar: Path = JAR, sources: Path = SOURCES) -> None:
    """Compiles the jar unless it is made of the sources. Raises SetUpError if that fails."""
    with only_one(sources.parent / "build"):
        if not is_of_sources(jar, sources):
            _compile(sources, jar)


def is_of_sources(jar: Path = JAR, sources: Path = SOURCES) -> bool:
    """Returns whether the jar exists and was compiled from the sources as they are, with the locked jars."""
    if not jar.is_file():
        return False
    with zipfile.ZipFile(jar) as archive:
        return archive.comment == _digest(_files(sources))


def _files(sources: Path) -> list[Path]:
    return sorted(sources.glob("tidemark/*.java"))


def _digest(files: Sequence[Path]) -> bytes:
    made_of = hashlib.sha256(_locked_version("pyspark").encode())
    for jar in (*locked("spark"), *listed(LOCK, "compiler")):
        made_of.update(jar.sha256.encode())
    for file in files:
        made_of.update(file.name.encode() + b"\0" + file.read_bytes())
    return made_of.hexdigest().encode()


def _locked_version(package: str) -> str:
    """Returns the version of a package in uv.lock: with another one the jar is used as it is."""
    # Parsing the whole lock would take a quarter of a second at the start of each run of tests.
    found = re.search(rf'^name = "{package}"\nversion = "(.+)"$', (ROOT / "uv.lock").read_text(), re.MULTILINE)
    assert found, f"uv.lock has no {package}"  # noqa: S101 - uv writes it
    return found[1]


def _compile(sources: Path, jar: Path) -> None:
    import pyspark  # noqa: PLC0415 - it takes a tenth of a second, and nearly always there is nothing to compile

    files, compiler = _files(sources), provide(listed(LOCK, "compiler"), cache(), mirror())
    class_path = [*jars_of("spark"), *Path(pyspark.__file__).parent.glob("jars/*.jar")]
    with tempfile.TemporaryDirectory(dir=jar.parent, prefix=".compiled-") as folder:
        classes = Path(folder, "classes")
        command = [find_java() / "bin" / "java", "-jar", *compiler, "-17", "-nowarn", "-d", classes]
        command += ["-cp", ":".join(map(str, sorted(class_path))), *files]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=_LONGEST_S, check=False)
        if done.returncode:
            raise SetUpError(f"the connector cannot be compiled: {done.stderr.strip()[-2000:]}")
        finished = Path(folder, jar.name)
        with zipfile.ZipFile(finished, "w") as archive:
            for path in sorted(classes.rglob("*.class")):
                archive.writestr(zipfile.ZipInfo(str(path.relative_to(classes))), path.read_bytes())
            archive.comment = _digest(files)
        finished.replace(jar)


def main() -> int:
    """Returns 0 if the jar is made of the sources, 2 after a sentence if it cannot be compiled."""
    return exit_code_of(refresh)


if __name__ == "__main__":
    sys.exit(main())
