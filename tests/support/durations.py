"""How long each test file took: the longest start first, so that no worker is alone with one of them at the end."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[2]
KEPT: Final = _ROOT / "tests" / "durations.json"
"""Seconds by file, of the last run whose result was committed: `cp build/durations.json tests/`."""
WRITTEN: Final = _ROOT / "build" / "durations.json"
"""Seconds by file, of the last run in this checkout."""
LONG_S: Final = 12
"""`make test` leaves out files that took this many seconds, except their tests that are marked `core`."""
_LEAST_S: Final = 5


def file_of(test: str) -> str:
    """Returns the file of a test id."""
    return test.split("::", maxsplit=1)[0]


def by_file(seconds: Mapping[str, float]) -> dict[str, int]:
    """Returns the rounded seconds of each file that takes five or more, longest first. `seconds` is by test id.

    >>> by_file({"tests/a.py::one": 4.0, "tests/a.py::two": 4.4, "tests/b.py::three": 1.0})
    {'tests/a.py': 8}
    """
    files = defaultdict[str, float](float)
    for test, duration_s in seconds.items():
        files[file_of(test)] += duration_s
    longest_first = sorted(files.items(), key=lambda each: -each[1])
    return {file: round(total) for file, total in longest_first if total >= _LEAST_S}


def kept() -> Mapping[str, int]:
    """Returns the seconds by file of the last committed run; empty without one."""
    return dict(json.loads(KEPT.read_text())) if KEPT.exists() else {}


def write(seconds: Mapping[str, float]) -> None:
    """Writes the seconds of a run by file, and lists each test that took a second or more."""
    WRITTEN.parent.mkdir(exist_ok=True)
    WRITTEN.write_text(json.dumps(by_file(seconds), indent=0) + "\n")
    tests = sorted(((duration_s, test) for test, duration_s in seconds.items() if duration_s >= 1), reverse=True)
    lines = [f"{duration_s:8.1f} {test}\n" for duration_s, test in tests]
    WRITTEN.with_suffix(".txt").write_text("".join(lines))
