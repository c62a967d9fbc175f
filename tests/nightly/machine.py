"""Describes the machine of a run: figures of different machines are not comparable."""

import platform

from benchmarks import results
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.java import find_java, probe_java


def machine() -> str:
    """Returns cores, memory and versions in one sentence."""
    figures = results.machine()
    size = f"{figures['cores']} cores with {figures['memory_bytes'] / 2**30:.0f} GB"
    return f"{size}, {platform.system()}, Python {figures['python']}, {_java()}"


def _java() -> str:
    try:
        java = probe_java(find_java() / "bin" / "java")
    except SetUpError:
        return "no Java"
    return f"Java {java.version}" if java else "no Java"
