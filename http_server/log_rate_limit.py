"""Limits the rate of log lines, so that clients cannot fill the log."""

import logging
import time
from collections.abc import Callable
from typing import Final

from tidemark.command_line.counts import counted

LINES: Final = 10
PERIOD_S: Final = 60.0


class LogRateLimit(logging.Filter):
    """Passes `lines` records of a logger and level in each period, the first of which says how many were dropped."""

    def __init__(
        self, lines: int = LINES, period_s: float = PERIOD_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._lines, self._period_s, self._clock = lines, period_s, clock
        self._counts: dict[tuple[str, int], tuple[float, int]] = {}
        """Start of the period and records since, by logger and level."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether to write the record."""
        key, now = (record.name, record.levelno), self._clock()
        start_s, count = self._counts.get(key, (now, 0))
        if now - start_s >= self._period_s:
            if count > self._lines:
                record.msg = f"{record.getMessage()} ({counted(count - self._lines, 'more line')} dropped)"
                record.args = ()
            start_s, count = now, 0
        self._counts[key] = (start_s, count + 1)
        return count < self._lines
