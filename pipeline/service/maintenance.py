"""Upkeep of the tables, step by step in the publisher's thread: no batch waits for it."""

from collections.abc import Iterator
from typing import Final

from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.batch import Batch
from tidemark.pipeline.event_time.certain import certain_watermark
from tidemark.pipeline.results.compaction import Compaction
from tidemark.pipeline.results.retention import remove_by_age
from tidemark.pipeline.service.resources import Resources
from tidemark.pipeline.tables import event_id_table, housekeeping
from tidemark.pipeline.tables.file_statistics import sizes
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, EVENT_IDS, OWN, PANES, results_of
from tidemark.pipeline.tables.traffic import Meter

_AGE_EVERY_MS: Final = 3_600_000
"""The minimum time between removals of old rows."""


class Maintenance:
    """Compacts panes, removes old rows, merges small files, removes dead files, and measures the tables."""

    def __init__(self, resources: Resources, compaction: Compaction) -> None:
        self._resources = resources
        self._compaction = compaction
        self._aged_at: int | None = None
        self._meter = Meter(resources.warehouse, results_of(resources.policy))

    def wanted_after(self, batch: Batch) -> bool:
        """Returns whether upkeep is due, by the count of batches in this epoch."""
        every = self._resources.tuning.upkeep_batches
        return batch.batch_id % every == 1 % every

    def steps(self, batch: Batch) -> Iterator[None]:
        """Maintains one table, or makes one merge, per step. Raises DeltaError or OSError if the store refuses."""
        warehouse, results, now = self._resources.warehouse, results_of(batch.policy), self._resources.now()
        ids, many_files = [EVENT_IDS] if batch.policy.deduplicate else [], self._resources.tuning.small_files
        certain = certain_watermark(batch.after, batch.policy.strategy.delay_ms, now)
        too_late, closed = lateness.finals(batch.policy.reports, certain)
        yield from self._compaction.steps(batch.batch_id, too_late, closed)
        if self._aged_at is None or now - self._aged_at >= _AGE_EVERY_MS:
            self._aged_at = now
            remove_by_age(warehouse, self._resources.retention, batch.policy, certain, batch.batch_id, now)
            yield
        if ids:
            event_id_table.maintain(warehouse, too_late, batch.batch_id, many_files)
            yield
        for spec in (DEAD_LETTERS, *results):
            housekeeping.merge_small_files(warehouse, spec, batch.batch_id, many_files)
            yield
        for spec in (PANES, DEAD_LETTERS, *ids, *results):
            housekeeping.remove_dead_files(warehouse, spec)
            yield
        self._resources.observer.measured(sizes(warehouse, results), self._meter.read())
        yield
        for spec in (*OWN, *results):  # after the meter has read the logs
            housekeeping.shorten_log(warehouse, spec)
            yield
