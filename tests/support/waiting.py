"""Waiting on a condition with a deadline: the only way a test lets time pass."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE_S = 0.05


def wait_for(condition: Callable[[], T | None], seconds: float, what: str) -> T:
    """Returns the first true result of `condition`; fails after `seconds` with `what` did not happen."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {seconds:g} s")
        time.sleep(PAUSE_S)
    return answer
