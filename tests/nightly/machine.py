"""Describes the machine of a run: figures of different machines are not comparable."""

import os
import platform

from pipeline.errors import SetUpError
from pipeline.runtime.java import find_java, probe_java


def machine() -> str:
    """Returns cores, memory and versions in one sentence."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = f"Python {platform.python_version()}"
    return f"{os.cpu_count()} cores with {gigabytes:.0f} GB, {platform.system()}, {python}, {_java()}"


def _java() -> str:
    try:
        java = probe_java(find_java() / "bin" / "java")
    except SetUpError:
        return "no Java"
    return f"Java {java.version}" if java else "no Java"
