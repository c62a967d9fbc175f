"""The only reasons for which CI skips a test: a component that a machine cannot have. Any other skip fails in CI."""

import os
import re
from typing import Final

STRICT: Final = bool(os.environ.get("TESTS_STRICT_SKIPS"))
"""Set by `.ci/run`."""
ALLOWED: Final = {
    "no Docker engine answers": "CI may have none; the same broker runs as a process",
    "systemd-analyze is not on PATH": "containers have no systemd; the unit's directives are also checked by the test",
    "only Linux|which only Linux has|glibc's allocator": "macOS",
    "no control group": "containers may not make any; limits are also read from files",
    "this allocator gives it back by itself": "another C library than glibc",
    "no user namespaces": "containers may not make any; the test of the image runs one under such a user",
    "the machine has one core": "nothing is shared out then",
    "no history of git": "an sdist or a shallow clone; a complete clone compares the runs that documents quote",
}
"""Patterns of reasons, each with what covers the case instead."""


def is_allowed(reason: str) -> bool:
    """Returns whether CI may skip a test for `reason`.

    >>> is_allowed("no Docker engine answers on this machine"), is_allowed("no time left")
    (True, False)
    """
    return any(re.search(pattern, reason) for pattern in ALLOWED)


def failure(reason: str) -> str:
    """Returns the message of a test that was skipped and may not be."""
    return f"skipped ({reason}), which CI does not allow: install what is missing, or add it to tests/support/skips.py"
