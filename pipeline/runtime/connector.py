"""Compiles the Java sources in `connector`, once per user, into the folder of the jars.

Eclipse's compiler is a jar that needs a Java to run in, but no JDK. The name of the result contains a hash of
everything it is compiled from.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pyspark
import structlog

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.jars import cache, jars_of, locked, only_one
from tidemark.pipeline.runtime.java import find_java

SOURCE: Final = "tidemark.KafkaColumns"
"""The name by which Spark finds the connector's columnar source."""
_LONGEST_S: Final = 300
_log = structlog.get_logger()


def connector_jar() -> Path:
    """Returns the jar; compiles it at the first use. Raises SetUpError if a jar or Java is missing."""
    sources = _sources()
    jar = cache() / f"tidemark-connector-{_digest(sources)}.jar"
    if not jar.is_file():
        compiler = jars_of("compiler")
        class_path = [*jars_of("spark"), *Path(pyspark.__file__).parent.glob("jars/*.jar")]
        with only_one(jar.parent):
            if not jar.is_file():  # another process may have compiled it meanwhile
                _compile(sources, compiler, class_path, jar)
                _log.info("connector_compiled", jar=str(jar))
    return jar


def _sources() -> list[Path]:
    """Returns the sources: of the wheel, else of the repository."""
    package = Path(__file__).resolve().parents[1]
    folders = [folder / "connector" for folder in (package, package.parent) if (folder / "connector").is_dir()]
    if not folders:
        raise SetUpError(f"the folder connector is missing in {package}: install tidemark-lake again")
    return sorted(folders[0].glob("tidemark/*.java"))


def _digest(sources: Sequence[Path]) -> str:
    made_of = hashlib.sha256(version("pyspark").encode())
    for jar in (*locked("spark"), *locked("compiler")):
        made_of.update(jar.sha256.encode())
    for source in sources:
        made_of.update(source.name.encode() + b"\0" + source.read_bytes())
    return made_of.hexdigest()[:16]


def _compile(sources: Sequence[Path], compiler: Sequence[Path], class_path: Sequence[Path], jar: Path) -> None:
    with tempfile.TemporaryDirectory(dir=jar.parent, prefix=".compiled-") as folder:
        classes = Path(folder, "classes")
        command = [find_java() / "bin" / "java", "-jar", *compiler, "-17", "-nowarn", "-d", classes]
        command += ["-cp", ":".join(map(str, class_path)), *sources]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=_LONGEST_S, check=False)
        if done.returncode:
            raise SetUpError(f"Tidemark's connector cannot be compiled: {done.stderr.strip()[-2000:]}")
        finished = Path(folder, jar.name)
        with zipfile.ZipFile(finished, "w") as archive:
            for path in sorted(classes.rglob("*.class")):
                archive.writestr(zipfile.ZipInfo(str(path.relative_to(classes))), path.read_bytes())
        finished.replace(jar)


def main() -> int:
    """Prints the path of the jar, which it compiles if it is missing; returns exit code 2 if that fails."""
    try:
        sys.stdout.write(f"{connector_jar()}\n")
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
