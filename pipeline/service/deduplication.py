"""Duplicates of a batch, found on the driver between the two halves of its fold."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pyspark.sql import DataFrame

from pipeline.event_time import lateness
from pipeline.event_time.event_ids import Ids, Remembered
from pipeline.event_time.progress import Progress
from pipeline.fold.duplicates import events_with_id
from pipeline.fold.fold_plan import FoldPlan


class Deduplication:
    """What is remembered of event ids; it moves on when a batch is committed, and does nothing where it is off."""

    def __init__(self, remembered: Remembered | None) -> None:
        """`remembered` is what the tables have; None where events are not deduplicated."""
        self._remembered = remembered

    @contextmanager
    def mark(self, keyed: DataFrame, plan: FoldPlan, before: Progress) -> Iterator[tuple[DataFrame, Ids | None]]:
        """The records with their verdicts, duplicates told, and the ids of those that will be counted."""
        if self._remembered is None:
            yield keyed, None
            return
        with ExitStack() as kept:
            if not keyed.is_cached:
                kept.callback(keyed.persist().unpersist)
            ids, positions = events_with_id(keyed)
            repeated = self._remembered.repeated(ids, positions, _since(before))
            yield plan.mark_duplicates(keyed, positions[repeated]), ids[~repeated]

    def committed(self, ids: Ids | None, after: Progress) -> None:
        """The ledger has a batch that counted events with these ids."""
        if self._remembered is not None and ids is not None:
            self._remembered = self._remembered.after(ids, _since(after))


def _since(progress: Progress) -> int:
    """Ids of events from this time on are remembered: events before it are too late for every window."""
    since, _ = lateness.cutoffs(progress.policy.reports, progress.frontier.watermark)
    return since
