"""Flink, for those who compare with it: its jars at their hashes, a JDK's compiler, and how a program of it is started.

Not a dependency: `make flink` and the benchmarks fetch the jars (220 MB) at their first use.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline.errors import SetUpError
from pipeline.runtime.jars import Jar, cache, listed, mirror, provide
from pipeline.runtime.java import find_java

# Java 17 asks for these where Flink looks into the JDK; they are those of Flink's own configuration.
OPENS: Final = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util", "time")]
_LOCK: Final = Path(__file__).with_name("flink.lock")


def locked_jars() -> list[Jar]:
    """The lines of the lock."""
    return listed(_LOCK, "flink")


def version() -> str:
    """The version of Flink that is locked."""
    return next(jar.coordinate.split(":")[2] for jar in locked_jars() if ":flink-runtime:" in jar.coordinate)


def flink_jars() -> list[Path]:
    """The jars, fetched if missing. Raises SetUpError."""
    return provide(locked_jars(), cache(), mirror())


def compiler() -> Path:
    """The compiler beside the Java found. Raises SetUpError where there is none."""
    found = find_java() / "bin" / "javac"
    if not found.exists():
        raise SetUpError(f"There is no {found}: Flink's part needs a JDK, such as OpenJDK 17; set JAVA_HOME to one.")
    return found


def compiled(sources: Path, into: Path) -> str:
    """Compile a folder of sources; the class path of what came of it, of what else is there, and of Flink.

    Raises SetUpError where there is no compiler, or a jar cannot be had.
    """
    javac, jars = compiler(), flink_jars()
    files = sorted(map(str, sources.glob("*.java")))
    subprocess.run([javac, "-nowarn", "-d", into, "-cp", os.pathsep.join(map(str, jars)), *files], check=True)
    return os.pathsep.join(map(str, (into, sources, *jars)))


def command(class_path: str, main: str, options: Sequence[str] = ()) -> list[str]:
    """The command line of a program, but for its arguments; `options` are the JVM's."""
    return [str(find_java() / "bin" / "java"), *OPENS, *options, "-cp", class_path, main]
