"""The text of a bug report: versions, settings, the end of the ledger, and the outcome of `verify`."""

import os
import platform
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline.commands.support.safe_settings import setting_lines
from tidemark.pipeline.commands.support.scrubbing import scrubbed
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.instants import now_ms, time_of
from tidemark.pipeline.reading.last_batches import last_rows, last_versions
from tidemark.pipeline.runtime import limits
from tidemark.pipeline.runtime.jars import cache, locked, missing
from tidemark.pipeline.runtime.java import find_java, probe_java
from tidemark.pipeline.settings.sources import Source, merged
from tidemark.pipeline.tables.opening import VERSION
from tidemark.pipeline.verifier.invariants import verify
from tidemark.pipeline.verifier.verification_report import sentences

_FRAMES: Final = 8
"""Number of innermost frames of an error."""
_INTRODUCTION: Final = (
    "A Tidemark support bundle. It has no secrets, user ids, values of events, addresses or paths;",
    "texts of settings are hidden. Read it before you attach it to a bug report.",
)


def bundle_text(sources: Sequence[Source], *, verifies: bool) -> str:
    """Returns all sections. A section that fails contains the type of the error, without its message."""
    warehouse = str(merged(sources).get("warehouse") or "")
    sections: dict[str, Callable[[], Iterator[str]]] = {
        "versions": _versions,
        "machine": lambda: _machine(warehouse),
        "settings that are not defaults": lambda: setting_lines(sources),
        "epochs": lambda: _epochs(warehouse),
        "ledger": lambda: _ledger(warehouse),
        "verify": lambda: _verified(warehouse) if verifies else iter(["left out"]),
    }
    lines = [*_INTRODUCTION, f"Written at {time_of(now_ms())}"]
    for title, section in sections.items():
        lines += ["", f"## {title}", *_lines(section)]
    return scrubbed("\n".join(lines)) + "\n"


def _lines(section: Callable[[], Iterator[str]]) -> list[str]:
    try:
        return list(section()) or ["none"]
    except Exception as error:  # noqa: BLE001 - also of a defect: it is reported, and may be the reason for the bundle
        # Not its message, which may have values.
        frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
        return [
            f"failed: {type(error).__name__}",
            *(f"  {Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames),
        ]


def _versions() -> Iterator[str]:
    yield f"tidemark-lake {VERSION}"
    yield f"Python {platform.python_version()} ({platform.python_implementation()})"
    for name in dict.fromkeys(re.split(r"[^\w.-]", each)[0] for each in requires("tidemark-lake") or ()):
        yield f"{name} {_installed(name)}"
    try:
        java = probe_java(find_java() / "bin" / "java")
        yield f"Java {java.version if java else 'does not run'}"
    except SetUpError:
        yield "Java is missing, or of a version that Spark does not support"
    yield f"missing jars: {len(missing(locked('spark'), cache()))} of {len(locked('spark'))}"


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "is not installed"


def _machine(warehouse: str) -> Iterator[str]:
    yield f"{platform.system()} {platform.release()} {platform.machine()}, {' '.join(platform.libc_ver())}"
    memory = limits.memory()
    yield f"{limits.cores()} of {counted(os.cpu_count() or 0, 'core')}"
    yield f"{memory / 1e9:.1f} GB of memory" if memory else "memory is not limited"
    scheme = re.match(r"([a-z][a-z0-9]{1,9}):/", warehouse)
    yield f"the warehouse is in {scheme[1] if scheme else 'a local folder'}"


def _epochs(warehouse: str) -> Iterator[str]:
    for opened in last_versions(warehouse):
        text = f"format {opened.format}, written by {opened.written_by}" if opened.format else "cannot be read"
        yield f"epoch {opened.epoch}: {text}"


def _ledger(warehouse: str) -> Iterator[str]:
    """Yields a line for each row, the newest first; columns that are 0 or null are left out."""
    for row in last_rows(warehouse):
        yield " ".join(f"{name}={value}" for name, value in row.items() if value)


def _verified(warehouse: str) -> Iterator[str]:
    verification = verify(warehouse, hides_values=True)
    for finding in verification.findings:
        yield f"{finding.name}: {counted(finding.violation_count, 'violation')}, checked {finding.checked}"
    yield from sentences(verification)
