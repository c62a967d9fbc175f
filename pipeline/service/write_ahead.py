"""Step 2 of a batch: its dead letters and partial counts are written, void until the commit."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from pipeline.event_time.batch import Batch
from pipeline.event_time.tallies import Statistic
from pipeline.fold.grouping_sets import Groupings
from pipeline.fold.outputs import chunks, dead_letters, panes
from pipeline.tables.schemas import DEAD_LETTERS, PANES
from pipeline.tables.write import Appender


@dataclass(frozen=True, slots=True)
class Folded:
    """The result of a batch's fold, and the time at its begin in milliseconds."""

    rows: DataFrame
    groupings: Groupings
    statistics: Sequence[Statistic]
    now: int


class WriteAhead:
    """One writer's view of `panes` and `dead_letters`."""

    def __init__(self, warehouse: str) -> None:
        self._panes = Appender(PANES, warehouse)
        self._dead_letters = Appender(DEAD_LETTERS, warehouse)

    def __call__(self, folded: Folded, batch: Batch) -> None:
        """Writes both; what is large comes in pieces. Raises Replaced."""
        watermark, number = batch.before.watermark, batch.number
        for piece in chunks(folded.rows, batch.tallies.bytes):
            self._dead_letters.append(dead_letters(piece, batch.topic, number, watermark), number)
            self._panes.append(panes(piece, batch.policy.consumers, folded.groupings, number, watermark), number)
