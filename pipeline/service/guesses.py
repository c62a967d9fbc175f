"""Guesses from the last batch about the next one: whether many records will be rejected, and whether its fold is small.

A wrong guess costs time and changes nothing else.
"""

from collections.abc import Callable
from typing import Final

from tidemark.pipeline.event_time.policy import REJECTED
from tidemark.pipeline.event_time.tallies import Tallies
from tidemark.pipeline.fold.statistics import ROW_BYTES, Sample
from tidemark.pipeline.tables.large import LargeJobs

_MANY_REJECTED: Final = 1 / 8
"""The share from which caching all records of a batch is cheaper than a row with the bytes of each rejected one."""


class Guesses:
    """Remembers the share of rejected records in the last batch, and the bytes of its fold per record."""

    def __init__(self, large: LargeJobs, room_bytes: int, large_batch_records: int) -> None:
        """`room_bytes` is the size up to which a fold is small.

        `large_batch_records` is the smallest batch for which a guess about rejected records pays.
        """
        self._large_batch_records = large_batch_records
        self._large = large
        self._room_bytes = room_bytes
        self._rejected_share: float | None = None
        self._record_bytes = 0.0
        self._row_bytes: float = ROW_BYTES

    def are_many_rejected(self, records: int, sample: Callable[[], Sample]) -> bool:
        """Guesses whether a batch of about this many `records` should keep rejected records apart.

        Calls `sample` for the first large batch, which no other batch precedes.
        """
        if records < self._large_batch_records:
            return False
        if self._rejected_share is None:
            self._rejected_share, row_bytes = sample()
            self._row_bytes = row_bytes or ROW_BYTES
        return self._rejected_share >= _MANY_REJECTED

    def is_small(self, records: int, sets: int) -> bool:
        """Guesses whether the driver can collect a fold of `records` by `sets` sets of keys without executors.

        Collecting it saves a copy in Spark's cache and further jobs. A batch with more different keys than the sample
        or the last batch may be too large for Spark, and is then computed again.
        """
        size = records * max(self._row_bytes, self._record_bytes)
        return size <= self._room_bytes and not self._large.is_large(records * sets)

    def committed(self, tallies: Tallies) -> None:
        """Takes note of a committed batch with records."""
        if records := tallies.total():
            self._rejected_share = dead_letter_count(tallies) / records
            self._record_bytes = tallies.bytes / records


def dead_letter_count(tallies: Tallies) -> int:
    """Returns the number of a batch's dead letters: rejected records, and those too late for some windows."""
    partly_late = sum(tally.partly_late for tally in tallies.partitions.values())
    return tallies.total(REJECTED) + partly_late
