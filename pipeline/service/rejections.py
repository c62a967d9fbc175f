"""Whether a batch is likely to bring many rejected records, so that it pays to keep them apart.

What is guessed costs time where it is wrong, and changes nothing else.
"""

from collections.abc import Callable
from typing import Final

from pipeline.event_time.policy import REJECTED
from pipeline.event_time.tallies import Tallies

LARGE: Final = 200_000
"""Records from which on a batch is worth a guess."""
MANY: Final = 1 / 8
"""The share from which on it is cheaper to keep all records of a batch than to make a group for each rejected one."""


class Rejections:
    """What the last batch brought, or, of the first, what a sample of it tells."""

    def __init__(self) -> None:
        self._share: float | None = None

    def are_many(self, records: int, sample: Callable[[], float]) -> bool:
        """Whether a batch of about so many records is large and likely to have many rejected ones."""
        if records < LARGE:
            return False
        if self._share is None:
            self._share = sample()
        return self._share >= MANY

    def committed(self, tallies: Tallies) -> None:
        """Takes note of a batch; one without records tells nothing."""
        if records := tallies.total():
            self._share = letters(tallies) / records


def letters(tallies: Tallies) -> int:
    """How many dead letters a batch has: of each rejected record, and of each that is late for some windows only."""
    partly_late = sum(tally.partly_late for tally in tallies.partitions.values())
    return tallies.total(REJECTED) + partly_late
