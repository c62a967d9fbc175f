"""Step 2 of a batch: its dead letters, partial counts and event ids are written, void until the commit."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from pipeline.event_time.batch import Batch
from pipeline.event_time.event_ids import Ids
from pipeline.event_time.tallies import Statistic
from pipeline.fold.grouping_sets import Groupings
from pipeline.fold.outputs import chunks, dead_letters, event_ids, panes
from pipeline.tables.schemas import DEAD_LETTERS, EVENT_IDS, PANES
from pipeline.tables.write import Appender


@dataclass(frozen=True, slots=True)
class Folded:
    """The result of a batch's fold, and the time at its begin in milliseconds."""

    rows: DataFrame
    groupings: Groupings
    statistics: Sequence[Statistic]
    now: int
    ids: Ids | None = None
    """Of the events that are counted, where they are deduplicated."""


class WriteAhead:
    """One writer's view of `panes`, `dead_letters` and, where events are deduplicated, `event_ids`."""

    def __init__(self, warehouse: str, *, deduplicates: bool) -> None:
        self._panes = Appender(PANES, warehouse)
        self._dead_letters = Appender(DEAD_LETTERS, warehouse)
        self._event_ids = Appender(EVENT_IDS, warehouse) if deduplicates else None

    def __call__(self, folded: Folded, batch: Batch) -> None:
        """Writes all of it; what is large comes in pieces. Raises Replaced."""
        watermark, number = batch.before.watermark, batch.number
        if self._event_ids and folded.ids is not None:
            self._event_ids.append(event_ids(folded.ids, number), number)
        for piece in chunks(folded.rows, batch.tallies.bytes):
            self._dead_letters.append(dead_letters(piece, batch.topic, number, watermark), number)
            self._panes.append(panes(piece, batch.policy.consumers, folded.groupings, number, watermark), number)
