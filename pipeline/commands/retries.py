"""Decides when to retry and when to give up after failed attempts. Pure: `now_s` is an argument."""

from typing import Final

from tidemark.pipeline.service.pauses import growing

_PAUSES_S: Final = (1, 2, 5, 10, 30, 60)
_HEALTHY_S: Final = 600
"""An attempt that ran this long was healthy, even if a quiet topic gave it nothing to commit."""


class Retries:
    """Pauses between consecutive attempts that committed nothing."""

    def __init__(self, give_up_after_s: float | None = None) -> None:
        self._give_up_after_s = give_up_after_s
        self._pauses = growing(*_PAUSES_S)
        self._failing_since_s: float | None = None

    def after_failure(self, now_s: float, began_s: float, *, committed: bool) -> float | None:
        """Returns the pause in seconds after an attempt from `began_s` to `now_s` that failed; None to give up."""
        if committed or now_s - began_s >= _HEALTHY_S or self._failing_since_s is None:
            self._failing_since_s = now_s
            self._pauses = growing(*_PAUSES_S)
        if self._give_up_after_s is None:
            return next(self._pauses)
        left_s = self._give_up_after_s - (now_s - self._failing_since_s)
        return min(next(self._pauses), left_s) if left_s > 0 else None
