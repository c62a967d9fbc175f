"""Step 2 of a batch: writes its dead letters, partial counts and event ids, which are uncommitted until step 3."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pyarrow as pa

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.batch import Batch
from tidemark.pipeline.event_time.event_ids import Ids
from tidemark.pipeline.event_time.policy import Consumer, Verdict
from tidemark.pipeline.fold.fold_result import FoldResult
from tidemark.pipeline.fold.frames import BatchStamp, panes_frame, without_sketches
from tidemark.pipeline.fold.outputs import dead_letters, event_ids, panes
from tidemark.pipeline.runtime.jobs import LargeJob
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.large import NOTHING, LargeJobs, new_folder
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, EVENT_IDS, PANES


class WriteAhead:
    """Writes to `panes`, `dead_letters` and, if events are deduplicated, `event_ids`."""

    def __init__(
        self, warehouse: str, unusable: Mapping[int, str], *, deduplicates: bool, large: LargeJobs = NOTHING
    ) -> None:
        """`unusable` are reasons why schemas cannot be used, by schema id; more may come later."""
        self._large = large
        self._unusable = unusable
        self._panes = Appender(PANES, warehouse)
        self._dead_letters = Appender(DEAD_LETTERS, warehouse)
        self._event_ids = Appender(EVENT_IDS, warehouse) if deduplicates else None

    def write(self, result: FoldResult, ids: Ids | None, batch: Batch) -> None:
        """Writes the rows of a batch chunk by chunk, and the `ids` of its counted events. Raises Replaced."""
        if self._event_ids and ids is not None:
            self._event_ids.append(event_ids(ids, batch.batch_id), batch.batch_id)
        write_letters = partial(self._write_letters, batch=batch)
        _write_each(result.rejected(), write_letters)
        consumers = self._left_by_executors(result, batch)

        def write(chunk: pa.Table) -> None:
            with ThreadPoolExecutor(1) as concurrent:
                letters = concurrent.submit(write_letters, chunk)
                if consumers:
                    rows = panes(chunk, consumers, result.groupings, batch.batch_id, batch.before.watermark)
                    self._panes.append(rows, batch.batch_id)
                letters.result()

        _write_each(result.chunks(consumers), write)
        if batch.tallies.total([Verdict.COUNTED]):
            self._mark(batch.batch_id)

    def _mark(self, batch_id: int) -> None:
        """Records the batch in `panes` and `event_ids`, even if it has no row for them."""
        for table in (self._panes, self._event_ids):
            if table is not None:
                table.mark(batch_id)

    def _write_letters(self, chunk: pa.Table, batch: Batch) -> None:
        rows = dead_letters(chunk, batch.topic, batch.batch_id, batch.before.watermark, self._unusable)
        self._dead_letters.append(rows, batch.batch_id)

    def _left_by_executors(self, result: FoldResult, batch: Batch) -> Sequence[Consumer]:
        """Has executors write panes if they are many, and returns the consumers whose panes the driver must write."""
        executors, consumers = self._large.executors, batch.policy.consumers
        is_large = self._large.takes(LargeJob.WRITE_AHEAD, PANES.name, result.row_count)
        if executors is None or result.frame is None or not is_large:
            return consumers
        base, stamp = new_folder(), BatchStamp(batch.batch_id, batch.before.watermark)
        schema = pa.schema([column for column in PANES.schema if column.name != c.REPORT])
        folders, written = dict[str, dict[str, str]](), without_sketches(consumers)
        for consumer in written:
            folder = f"{base}/{consumer.name}"
            frame = panes_frame(result.frame, consumer, result.groupings, stamp, batch.tallies.panes)
            executors.write_rows(frame, schema, self._panes.folder(folder))
            folders[folder] = {c.REPORT: consumer.name}
        self._panes.append_files(folders, batch.batch_id)
        return [consumer for consumer in consumers if consumer not in written]


def _write_each(chunks: Iterable[pa.Table], write: Callable[[pa.Table], None]) -> None:
    """Writes chunk after chunk in order, each while Spark computes the next."""
    with ThreadPoolExecutor(1) as writer:
        last: Future[None] | None = None
        for chunk in chunks:
            if last is not None:
                last.result()
            last = writer.submit(write, chunk)
        if last is not None:
            last.result()
