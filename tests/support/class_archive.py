"""The classes of Spark, loaded once and kept: a JVM that tests start then comes up in two thirds of the time.

The archive is of this environment and this Java; a JVM that it does not fit, or that finds none, goes without.
Source: JEP 350, dynamic archives of class data.
"""

import sys
from pathlib import Path
from typing import Final

ARCHIVE: Final = Path(sys.prefix) / ".classes.jsa"
BRIEF_JVM: Final = "-XX:TieredStopAtLevel=1"
"""For a life of seconds: compiling it well costs more than it gives."""
_SILENT: Final = "-Xlog:disable -Xlog:all=error:stderr"


def brief_driver() -> str:
    """Options for a driver that lives for seconds."""
    return f"{BRIEF_JVM} -XX:SharedArchiveFile={ARCHIVE} {_SILENT}"


def keeping_driver() -> str:
    """Options for a driver that makes the archive when it ends."""
    return f"{BRIEF_JVM} -XX:ArchiveClassesAtExit={ARCHIVE} {_SILENT}"
