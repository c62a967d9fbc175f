"""The classes of Spark, loaded once and kept: a Java process that finds them comes up in two thirds of the time.

The archive is of one environment and one Java. One that does not fit Java goes without.
Source: JEP 350, dynamic archives of class data.
"""

import sys
from pathlib import Path
from typing import Final

ARCHIVE: Final = Path(sys.prefix, ".classes.jsa")
# Java says of an archive that does not fit what nobody can do anything about.
QUIET: Final = "-Xlog:cds*=off -Xlog:class+path*=off"


def kept() -> str:
    """The options of a Java process that finds the archive; none where there is no archive."""
    return f"-XX:SharedArchiveFile={ARCHIVE} {QUIET}" if ARCHIVE.is_file() else ""
