"""The versions of a process, and the warehouse and machine that it stands on."""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from pipeline.runtime.disk import Space

BUILD: Final = (version("tidemark"), platform.python_version(), version("pyspark"), version("deltalake"))
"""Versions, as the labels of the metric have them."""


@dataclass(frozen=True, slots=True)
class Host:
    """The warehouse that the process writes, the space there, and the Java process beside it."""

    warehouse: str = ""
    space: Callable[[], Space | None] = lambda: None
    """None where the store has no such limit, or does not tell."""
    java: Callable[[], int | None] = lambda: None
    """The process id; None while there is none."""
