"""The library that injects faults at the calls with which a Python process touches files; built when first needed."""

import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tidemark.pipeline.runtime.jars import cache as jars_cache

SOURCES = [Path(__file__).with_name(name) for name in ("faults.c", "rules.c", "rules.h")]
OPTIONS = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")


def why_not() -> str | None:
    """Why faults cannot be injected on this machine; None where they can."""
    if sys.platform != "linux":
        return "faults are injected with LD_PRELOAD, which only Linux has"
    return None if shutil.which("cc") else "there is no C compiler (cc) on PATH"


NEEDS_FAULTS = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


@cache
def fault_library() -> Path:
    """Returns the library from the cache of jars; its name has a hash of its source."""
    text = b"".join(source.read_bytes() for source in SOURCES)
    built = jars_cache().parent / "faults" / f"{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        unfinished = built.with_suffix(f".{os.getpid()}")
        programs = [str(source) for source in SOURCES if source.suffix == ".c"]
        subprocess.run(["cc", *OPTIONS, "-o", str(unfinished), *programs, "-ldl", "-lpthread"], check=True)
        unfinished.replace(built)  # another process may be building it, too
    return built
