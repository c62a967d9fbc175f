"""Upkeep of the tables, now and then, in the publisher's thread: no batch waits for it, and no publication meets it."""

import time
from collections.abc import Mapping
from typing import Final

import structlog
from deltalake.exceptions import CommitFailedError

from pipeline.batch import Batch
from pipeline.parts import Parts
from pipeline.tables import housekeeping

_EVERY_BATCHES: Final = 100
_VACUUM_SECONDS: Final = 3600
_log = structlog.get_logger()


class Upkeep:
    """Compacts panes, removes void rows that a replaced process left late, merges files, removes dead ones."""

    def __init__(self, parts: Parts, last_batches: Mapping[int, int]) -> None:
        """`last_batches` maps each earlier epoch to its last committed batch."""
        self._parts = parts
        self._last_batches = last_batches
        self._vacuumed = time.monotonic()

    def due_after(self, batch: Batch) -> bool:
        """Whether it is time, by the number of batches."""
        return batch.number % _EVERY_BATCHES == 0

    def __call__(self, batch: Batch) -> None:
        """Does it all, once what `batch` made due is published. A clash with a writer is left to the next time."""
        try:
            self._do(batch)
        except CommitFailedError as error:
            _log.info("upkeep put off", reason=str(error))

    def _do(self, batch: Batch) -> None:
        warehouse, policy = self._parts.warehouse, self._parts.policy
        housekeeping.delete_void(warehouse, self._last_batches)
        committed = {**self._last_batches, batch.epoch: batch.number}
        self._parts.compaction(committed, batch.number, batch.after.watermark)
        housekeeping.merge_small_files(warehouse, policy.reports)
        if time.monotonic() - self._vacuumed > _VACUUM_SECONDS:
            self._vacuumed = time.monotonic()
            housekeeping.remove_dead_files(warehouse, policy.reports)
