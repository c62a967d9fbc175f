"""Reports which sites are refused, so that a missing `--allow-origin` is noticed."""

from collections.abc import Callable
from typing import Final

MOST: Final = 100
_LENGTH: Final = 256


class FirstRefusals:
    """Reports the first refusal of each origin, at most of the first `most` origins, because clients choose them."""

    def __init__(self, report: Callable[[str], None], most: int = MOST) -> None:
        self._report, self._most = report, most
        self._origins = set[str]()

    def add(self, origin: str) -> None:
        """Reports the origin unless it was reported before."""
        origin = origin[:_LENGTH]
        if origin in self._origins or len(self._origins) == self._most:
            return
        self._origins.add(origin)
        is_last = len(self._origins) == self._most
        self._report(
            f"pages of {origin} are refused, because --allow-origin does not list it"
            f"{' (further sites are not reported)' if is_last else ''}"
        )
