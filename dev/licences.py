"""The licences of what Tidemark ships: allowed licences, and the licences of packages and jars."""

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
        "EPL-2.0",
        "ISC",
        "MIT",
        "MIT-0",
        "MPL-2.0",
        "PSF-2.0",
        "Zlib",
    }
)
"""SPDX names. These licences require no more than naming the authors, or sharing changes to the licensed files."""

_AS_WRITTEN: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache License 2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "http://www.apache.org/licenses/LICENSE-2.0": "Apache-2.0",
}
_WITHOUT_METADATA: Final = {"pyruhvro": "MIT"}
"""Packages that state their licence in a file only."""
_JARS: Final = {
    "com.github.luben": "BSD-2-Clause",
    "com.google.re2j": "BSD-3-Clause",
    "net.sf.jopt-simple": "MIT",
    "net.sourceforge.argparse4j": "MIT",
    "org.eclipse.jdt": "EPL-2.0",
    "org.hdrhistogram": "BSD-2-Clause",
    "org.pcollections": "MIT",
    "org.reactivestreams": "MIT-0",
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
    "software.amazon.",
)
"""Prefixes of Maven groups."""


def package_licence(name: str) -> str | None:
    """Returns the licence of an installed Python package as an SPDX expression; None if its metadata has no licence."""
    if name in _WITHOUT_METADATA:
        return _WITHOUT_METADATA[name]
    try:
        fields = metadata(name)
    except PackageNotFoundError:
        return None
    classifiers = fields.get_all("Classifier") or ()
    classified = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License")]
    stated = [*(fields.get_all("License-Expression") or ()), *(fields.get_all("License") or ()), *classified]
    return _AS_WRITTEN.get(stated[0], stated[0]) if stated else None


def jar_licence(coordinate: str) -> str | None:
    """Returns the licence that a jar's project states; None if it is not listed above."""
    group = coordinate.split(":", maxsplit=1)[0]
    return "Apache-2.0" if group.startswith(_APACHE_JARS) else _JARS.get(group)


def is_allowed(expression: str) -> bool:
    """Returns whether `expression` may be shipped: either side of each `OR`, both sides of each `AND` are allowed."""
    return any(_all_allowed(side) for side in re.split(r"\bOR\b", expression.strip("() ")))


def _all_allowed(side: str) -> bool:
    names: Iterable[str] = re.split(r"\bAND\b", side)
    return all(name.strip("() ") in ALLOWED for name in names)
