"""The classes of Spark, loaded once and kept: a JVM that tests start then comes up in two thirds of the time.

The archive is of this environment and this Java; a JVM that it does not fit, or that finds none, goes without.
Source: JEP 350, dynamic archives of class data.
"""

import sys
from pathlib import Path
from typing import Final

ARCHIVE: Final = Path(sys.prefix) / ".classes.jsa"
BRIEF_JVM: Final = "-XX:TieredStopAtLevel=1"
"""For small tasks: compiling it well costs twice what it is compiled for."""
_SILENT: Final = "-Xlog:disable -Xlog:all=error:stderr"
BRIEF_DRIVER: Final = {
    "spark.driver.memory": "1g",
    "spark.driver.defaultJavaOptions": f"{BRIEF_JVM} -XX:SharedArchiveFile={ARCHIVE} {_SILENT}",
}
"""Properties of Spark for a driver that lives for seconds beside others."""


def keeping_driver() -> str:
    """Options for a driver that makes the archive when it ends."""
    return f"{BRIEF_JVM} -XX:ArchiveClassesAtExit={ARCHIVE} {_SILENT}"
