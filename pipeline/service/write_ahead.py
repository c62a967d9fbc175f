"""Step 2 of a batch: its dead letters, partial counts and event ids are written, void until the commit."""

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from pipeline import columns as c
from pipeline.event_time.batch import Batch
from pipeline.event_time.event_ids import Ids
from pipeline.event_time.policy import Consumer
from pipeline.event_time.tallies import Statistic
from pipeline.fold import pieces
from pipeline.fold.apart import REJECTED
from pipeline.fold.decode import unknown_schemas
from pipeline.fold.fold import Fold
from pipeline.fold.frames import in_frames, panes_frame, rest_of
from pipeline.fold.outputs import dead_letters, event_ids, panes
from pipeline.fold.statistics import ROW_BYTES
from pipeline.runtime.jobs import Job
from pipeline.service.guesses import letters
from pipeline.tables.appender import Appender
from pipeline.tables.large import NOTHING, Large, new_folder
from pipeline.tables.schemas import DEAD_LETTERS, EVENT_IDS, PANES


@dataclass(frozen=True, slots=True)
class Folded:
    """The result of a batch's fold, and the time at its begin in milliseconds."""

    rows: DataFrame
    """Kept by Spark; packed, and not kept, where the driver has taken them."""
    plan: Fold
    statistics: Sequence[Statistic]
    now: int
    ids: Ids | None = None
    """Of the events that are counted, where they are deduplicated."""
    apart: DataFrame | None = None
    """Rejected records, where they are not among the rows."""
    taken: pa.Table | None = None
    """The rows, packed, where the driver has them all."""

    def unknown_schemas(self, but: Collection[int]) -> list[int]:
        """Some ids of schemas that its records name and nobody knows, other than those given."""
        rejected = self.rows if self.apart is None else self.apart
        if self.taken is not None:
            # Rejected ones only, for they go back to Spark.
            table = self.taken.filter(pc.field(REJECTED).is_valid())
            rejected = self.rows.sparkSession.createDataFrame(self.plan.unpacked_rows(table))
        return unknown_schemas(rejected, but)


class WriteAhead:
    """One writer's view of `panes`, `dead_letters` and, where events are deduplicated, `event_ids`."""

    def __init__(self, warehouse: str, *, deduplicates: bool, large: Large = NOTHING) -> None:
        self._large = large
        self._panes = Appender(PANES, warehouse)
        self._dead_letters = Appender(DEAD_LETTERS, warehouse)
        self._event_ids = Appender(EVENT_IDS, warehouse) if deduplicates else None

    def __call__(self, folded: Folded, batch: Batch) -> None:
        """Writes all of it; what is large comes in pieces. Raises Replaced."""
        watermark, number = batch.before.watermark, batch.batch_id
        if self._event_ids and folded.ids is not None:
            self._event_ids.append(event_ids(folded.ids, number), number)
        if folded.apart is not None and letters(batch.tallies):
            _write_each(pieces.apart(folded.apart), partial(self._write_letters, batch=batch))
        rows, groupings, consumers = folded.rows, folded.plan.groupings, [*batch.policy.consumers]
        number_of_rows = batch.tallies.bytes // ROW_BYTES if folded.taken is None else len(folded.taken)
        if self._large.takes(Job.WRITE_AHEAD, PANES.name, number_of_rows):
            consumers = self._by_executors(folded, batch)
            rows = rest_of(rows, consumers, groupings)

        def write(piece: pa.Table) -> None:
            with ThreadPoolExecutor(1) as beside:
                letters_too = beside.submit(self._write_letters, piece, batch) if folded.apart is None else None
                if consumers:
                    self._panes.append(panes(piece, consumers, groupings, number, watermark), number)
                if letters_too:
                    letters_too.result()

        if folded.taken is None:
            _write_each(pieces.chunks(rows, batch.tallies.bytes), write)
        else:
            _write_each(map(folded.plan.unpacked_rows, pieces.parts(folded.taken)), write)

    def _write_letters(self, piece: pa.Table, batch: Batch) -> None:
        rows = dead_letters(piece, batch.topic, batch.batch_id, batch.before.watermark)
        self._dead_letters.append(rows, batch.batch_id)

    def _by_executors(self, folded: Folded, batch: Batch) -> list[Consumer]:
        """Has them write the panes of all consumers but those that are returned."""
        executors, consumers = self._large.executors, batch.policy.consumers
        assert executors is not None  # noqa: S101 - or nothing would be large
        base, known = new_folder(), (batch.batch_id, batch.before.watermark)
        schema = pa.schema([one for one in PANES.schema if one.name != c.REPORT])
        folders, theirs = dict[str, dict[str, str]](), in_frames(consumers)
        for one in theirs:
            folder = f"{base}/{one.name}"
            frame = panes_frame(folded.rows, one, folded.plan.groupings, known, batch.tallies.panes)
            executors.write_rows(frame, schema, self._panes.folder(folder))
            folders[folder] = {c.REPORT: one.name}
        self._panes.append_files(folders, batch.batch_id)
        return [one for one in consumers if one not in theirs]


def _write_each(found: Iterable[pa.Table], write: Callable[[pa.Table], None]) -> None:
    """Spark makes the next piece while the last one is written."""
    with ThreadPoolExecutor(1) as writer:
        last: Future[None] | None = None
        for piece in found:
            if last is not None:
                last.result()
            last = writer.submit(write, piece)
        if last is not None:
            last.result()
