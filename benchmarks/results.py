"""Writes the results of a run to a JSON file, with the machine and the versions."""

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from dev import flink

RESULTS: Final = Path(__file__).parent / "results"
_VERSIONS: Final = ("pyspark", "delta-spark", "deltalake", "confluent-kafka", "pyarrow")


def write(options: dict[str, Any], parts: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Writes the results file of a run that ends now, and returns its path."""
    now = datetime.now(UTC)
    document = {"at": now.isoformat(timespec="seconds"), "machine": machine(), "options": options, **parts}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{now:%Y%m%dT%H%M%SZ}.json"
    path.write_text(json.dumps(document, indent=1, default=str) + "\n")
    return path


def machine() -> dict[str, Any]:
    """Returns the machine and the versions, which a rate depends on."""
    return {
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "load_average_at_end": os.getloadavg(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {**{name: version(name) for name in _VERSIONS}, "flink": flink.version()},
        # Settings of the service, which a tuning run may have set.
        "environment": {name: value for name, value in os.environ.items() if name.startswith("TIDEMARK_")},
    }
