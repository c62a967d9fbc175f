"""Finds the duplicates of a batch on the driver, between the two halves of its fold."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pyspark.sql import DataFrame

from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.event_ids import Ids, RememberedIds
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.fold.duplicates import events_with_id
from tidemark.pipeline.fold.fold_plan import FoldPlan


class Deduplication:
    """Remembers the ids of counted events, from commit to commit."""

    def __init__(self, remembered: RememberedIds | None) -> None:
        """`remembered` are the ids in the tables; None if events are not deduplicated."""
        self._remembered = remembered

    @contextmanager
    def mark(self, keyed: DataFrame, plan: FoldPlan, before: Progress) -> Iterator[tuple[DataFrame, Ids | None]]:
        """Yields a fold's first half with its duplicates marked, and the ids of the events that count."""
        if self._remembered is None:
            yield keyed, None
            return
        with ExitStack() as until_folded:
            if not keyed.is_cached:
                until_folded.callback(keyed.persist().unpersist)
            ids, positions = events_with_id(keyed)
            are_repeated = self._remembered.repeated(ids, positions, _oldest_id_time(before))
            yield plan.mark_duplicates(keyed, positions[are_repeated]), ids[~are_repeated]

    def committed(self, ids: Ids | None, after: Progress) -> None:
        """Adds the ids of a committed batch's counted events, and forgets those that `after` makes unnecessary."""
        if self._remembered is not None and ids is not None:
            self._remembered = self._remembered.after(ids, _oldest_id_time(after))


def _oldest_id_time(progress: Progress) -> int:
    """Returns the event time in milliseconds before which ids are forgotten: older events are too late anyway."""
    too_late_before, _ = lateness.cutoffs(progress.policy.reports, progress.frontier.watermark)
    return too_late_before
