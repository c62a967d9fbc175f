"""Waiting on a condition: the only way a test lets time pass. All tests have one limit, which only a hang reaches."""

import os
import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PAUSE_S = 0.05
PATIENCE_S: Final = float(os.environ.get("TESTS_PATIENCE_S", "600"))
"""The shortest limit of any wait. A slow or busy machine stays below it; pytest's limit for a whole test is above it.

`TESTS_PATIENCE_S=60 make test` finds hangs sooner, on a machine that does nothing else.
"""


def wait_for(condition: Callable[[], T | None], seconds: float, what: str) -> T:
    """Returns the first true result of `condition`; fails with `what` after `seconds`, or `PATIENCE_S` if that is more.

    Have `condition` fail when it can no longer become true, for example because the process has ended.
    """
    limit_s = max(seconds, PATIENCE_S)
    deadline = time.monotonic() + limit_s
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {limit_s:g} s")
        time.sleep(PAUSE_S)
    return answer
