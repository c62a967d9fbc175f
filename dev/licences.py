"""Under which licences others may use what Tidemark ships: which are allowed, and what the jars have."""

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, metadata
from typing import Final

ALLOWED: Final = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MIT-0",
        "MPL-2.0",
        "PSF-2.0",
        "Zlib",
    }
)
"""By their SPDX names. They ask for no more than that one names the authors, or shares changes to their own files."""

_AS_WRITTEN: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache License 2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "http://www.apache.org/licenses/LICENSE-2.0": "Apache-2.0",
}
_UNWRITTEN: Final = {"pyruhvro": "MIT"}
"""What says it in a file only."""
_OF_JARS: Final = {
    "com.github.luben": "BSD-2-Clause",
    "com.google.re2j": "BSD-3-Clause",
    "net.sf.jopt-simple": "MIT",
    "net.sourceforge.argparse4j": "MIT",
    "org.hdrhistogram": "BSD-2-Clause",
    "org.pcollections": "MIT",
    "org.slf4j": "MIT",
}
_APACHE_JARS: Final = (
    "com.dynatrace.hash4j",
    "com.fasterxml.jackson",
    "com.github.ben-manes.caffeine",
    "com.typesafe.scala-logging",
    "com.yammer.metrics",
    "commons-",
    "io.delta",
    "org.apache.",
    "org.bitbucket.b_c",
    "org.jspecify",
    "org.lz4",
    "org.scala-lang",
    "org.xerial.snappy",
    "org.yaml",
)
"""Groups of Maven, by how they begin."""


def of_package(name: str) -> str | None:
    """The licence of an installed Python package as an SPDX expression; None where it does not tell."""
    if name in _UNWRITTEN:
        return _UNWRITTEN[name]
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return None
    classified = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier") or () if line.startswith("License")]
    given = [*(told.get_all("License-Expression") or ()), *(told.get_all("License") or ()), *classified]
    return _AS_WRITTEN.get(given[0], given[0]) if given else None


def of_jar(coordinate: str) -> str | None:
    """The licence of a jar, as its project states it; None for one that nobody has looked up yet."""
    group = coordinate.split(":", maxsplit=1)[0]
    return "Apache-2.0" if group.startswith(_APACHE_JARS) else _OF_JARS.get(group)


def is_allowed(expression: str) -> bool:
    """Whether what is under this expression may be shipped: of each `OR` one side, of each `AND` both."""
    return any(_all_allowed(side) for side in re.split(r"\bOR\b", expression.strip("() ")))


def _all_allowed(side: str) -> bool:
    names: Iterable[str] = re.split(r"\bAND\b", side)
    return all(name.strip("() ") in ALLOWED for name in names)
