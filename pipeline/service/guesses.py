"""What the last batch tells of the next one: whether it brings many rejected records, and whether its fold is small.

What is guessed costs time where it is wrong, and changes nothing else.
"""

from collections.abc import Callable
from typing import Final

from pipeline.event_time.policy import REJECTED
from pipeline.event_time.tallies import Tallies
from pipeline.fold.statistics import ROW_BYTES, Sample
from pipeline.tables.large import Large

LARGE_BATCH: Final = 200_000
"""Records from which on a batch is worth a guess."""
_MANY_REJECTED: Final = 1 / 8
"""The share from which on it is cheaper to keep all records of a batch than to make a group for each rejected one."""


class Guesses:
    """The share of rejected records in the last batch, and bytes of its fold for each record."""

    def __init__(self, large: Large, room_bytes: int) -> None:
        """Folds of up to `room_bytes` are small."""
        self._large = large
        self._room_bytes = room_bytes
        self._rejected: float | None = None
        self._of_record = 0.0
        self._of_row: float = ROW_BYTES

    def are_many_rejected(self, records: int, sample: Callable[[], Sample]) -> bool:
        """Whether a batch of about so many records is large, and likely to have many that are better kept apart.

        Of the first batch a sample tells the share, and how large rows are.
        """
        if records < LARGE_BATCH:
            return False
        if self._rejected is None:
            self._rejected, row_bytes = sample()
            self._of_row = row_bytes or ROW_BYTES
        return self._rejected >= _MANY_REJECTED

    def is_small(self, records: int, sets: int) -> bool:
        """Whether the fold of so many records by so many sets of keys is likely to be small, and none for executors.

        Such a one the driver takes at once, which spares Spark a copy of the rows and further looks at them. It would
        be small even if each record were a row of its own, for users may be others than those of the last batch.
        """
        size = records * max(self._of_row, self._of_record)
        return size <= self._room_bytes and not self._large.is_large(records * sets)

    def committed(self, tallies: Tallies) -> None:
        """Takes note of a batch; one without records tells nothing."""
        if records := tallies.total():
            self._rejected = dead_letter_count(tallies) / records
            self._of_record = tallies.bytes / records


def dead_letter_count(tallies: Tallies) -> int:
    """How many dead letters a batch has: of each rejected record, and of each that is late for some windows only."""
    partly_late = sum(tally.partly_late for tally in tallies.partitions.values())
    return tallies.total(REJECTED) + partly_late
