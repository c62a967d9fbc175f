"""Flink for comparisons: its jars by hash, the compiler of a JDK, and the command line of a Flink program.

Not a dependency: `make flink` and the benchmarks fetch the jars (220 MB) at their first use.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.jars import Jar, cache, listed, mirror, provide
from tidemark.pipeline.runtime.java import find_java

# Java 17 requires these options of Flink, which accesses internals of the JDK; taken from Flink's own configuration.
OPENS: Final = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util", "time")]
_LOCK: Final = Path(__file__).with_name("flink.lock")


def locked_jars() -> list[Jar]:
    """Returns the jars of the lock file."""
    return listed(_LOCK, "flink")


def version() -> str:
    """Returns the locked version of Flink."""
    return next(jar.coordinate.split(":")[2] for jar in locked_jars() if ":flink-runtime:" in jar.coordinate)


def flink_jars() -> list[Path]:
    """Returns the paths of the jars, fetched if missing. Raises SetUpError if a jar is not available."""
    return provide(locked_jars(), cache(), mirror())


def compiler() -> Path:
    """Returns the path of `javac`. Raises SetUpError if the Java found is no JDK."""
    javac = find_java() / "bin" / "javac"
    if not javac.exists():
        raise SetUpError(f"{javac} does not exist: Flink needs a JDK, such as OpenJDK 17; set JAVA_HOME to a JDK.")
    return javac


def compiled(sources: Path, into: Path, libraries: Sequence[Path] = ()) -> str:
    """Compiles the folder `sources` into `into`; returns the class path of `into`, `sources` and the libraries.

    `libraries` are jars, by default Flink's.

    Raises SetUpError if there is no compiler or a jar is not available.
    """
    javac, jars = compiler(), libraries or flink_jars()
    files = sorted(map(str, sources.glob("*.java")))
    subprocess.run([javac, "-nowarn", "-d", into, "-cp", os.pathsep.join(map(str, jars)), *files], check=True)
    return os.pathsep.join(map(str, (into, sources, *jars)))


def command(class_path: str, main: str, options: Sequence[str] = ()) -> list[str]:
    """Returns the command line of class `main` without its arguments; `options` are options of the JVM."""
    return [str(find_java() / "bin" / "java"), *OPENS, *options, "-cp", class_path, main]
