"""The folded rows of a batch: `OnDriver` has them in memory, `InSpark` leaves them in Spark's cache."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.wire_format import schema_ids, schema_ids_in_spark
from tidemark.pipeline.event_time.arrival import NO_ROWS, ArrivalRows, ArrivalSpan
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.tallies import Statistic
from tidemark.pipeline.fold import driver_chunks
from tidemark.pipeline.fold.arrival_spec import RISE, rises_of, unsettled_of
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.frames import driver_rows
from tidemark.pipeline.fold.grouped_records import REJECTED_RECORD
from tidemark.pipeline.fold.grouping_sets import Groupings
from tidemark.pipeline.fold.packed import GROUP
from tidemark.pipeline.fold.rejected_fields import NOT_REJECTED, REJECTED
from tidemark.pipeline.fold.statistics import ROW_BYTES


class FoldResult(Protocol):
    """The rows of a fold, unpacked when they are asked for."""

    @property
    def statistics(self) -> Sequence[Statistic]:
        """Returns the counts by partition, check, pane and age; equal groups may occur several times."""

    @property
    def rises(self) -> ArrivalRows:
        """Returns when the highest times arrived; empty unless records are judged by arrival."""

    @property
    def unsettled(self) -> Mapping[int, int]:
        """Returns by partition the number of events that were not judged at the step of their arrival."""

    @property
    def row_count(self) -> int:
        """Returns the number of rows; for rows in Spark it is estimated from their bytes."""

    @property
    def groupings(self) -> Groupings:
        """Returns the sets of keys that the rows are grouped by."""

    @property
    def frame(self) -> DataFrame | None:
        """Returns the rows for Spark's executors to write; None if the driver has them."""

    def chunks(self, consumers: Sequence[Consumer]) -> Iterator[pa.Table]:
        """Yields at least the rows that `consumers` need, and all rejected records but those of `rejected`."""

    def rejected(self) -> Iterator[pa.Table]:
        """Yields the rejected records that the fold kept apart; they are in no chunk."""

    def unknown_schema_ids(self, excluded: Collection[int]) -> list[int]:
        """Returns some of the unknown schema ids that records name, except those in `excluded`."""


class OnDriver:
    """A fold whose packed rows the driver has collected."""

    frame: None = None

    def __init__(self, plan: FoldPlan, rows: pa.Table, span: ArrivalSpan | None = None) -> None:
        """`span` is the batch's if its records are judged by arrival."""
        self._plan = plan
        self.groupings = plan.groupings
        self.rises = NO_ROWS if span is None else rises_of(rows)
        self.unsettled = {} if span is None else unsettled_of(rows)
        self._rows = rows = rows if span is None else plan.judgement(span.before, self.rises).of(rows)
        self.statistics = plan.driver_statistics(rows)
        self.row_count = len(rows)

    def chunks(self, consumers: Sequence[Consumer]) -> Iterator[pa.Table]:  # noqa: ARG002 - all rows are in memory
        """Yields all rows, unpacked."""
        return map(self._plan.unpacked_rows, driver_chunks.slices(self._rows, self._plan.chunk_bytes))

    def rejected(self) -> Iterator[pa.Table]:
        """Yields nothing: the chunks contain the rejected records."""
        return iter(())

    def unknown_schema_ids(self, excluded: Collection[int]) -> list[int]:
        """Returns ids from the rejected records, without Spark."""
        rejected = self._rows.filter(pc.field(REJECTED).is_valid())
        rows = self._plan.unpacked_rows(rejected)
        return schema_ids(rows.filter(pc.field(c.CHECK) == int(Check.SCHEMA_ID))[c.VALUE], excluded)


class InSpark:
    """A fold whose rows stay in Spark's cache, from which the driver takes them in chunks."""

    rises = NO_ROWS
    unsettled: Mapping[int, int] = MappingProxyType({})

    def __init__(self, plan: FoldPlan, packed: DataFrame, rejected: DataFrame | None) -> None:
        """Computes `packed`, which the caller has persisted and keeps until the rows are written.

        `rejected` are the rejected records, if they are kept apart.
        """
        self._plan = plan
        self.groupings = plan.groupings
        self._rejected = rejected
        self.frame = plan.unpacked(packed)
        self.statistics = [Statistic(*row) for row in plan.spark_statistics(self.frame).collect()]
        self._bytes = sum(row.bytes for row in self.statistics)
        self.row_count = self._bytes // ROW_BYTES

    def chunks(self, consumers: Sequence[Consumer]) -> Iterator[pa.Table]:
        """Yields the rows, filtered by Spark if `consumers` are not all that the fold has."""
        is_whole = len(consumers) == len(self._plan.consumers)
        rows = self.frame if is_whole else driver_rows(self.frame, consumers, self.groupings)
        return driver_chunks.spark_chunks(rows, self._bytes, self._plan.chunk_bytes)

    def rejected(self) -> Iterator[pa.Table]:
        """Yields the rejected records; runs no Spark job if the statistics have no rejected record."""
        if self._rejected is None or all(row.check in NOT_REJECTED for row in self.statistics):
            return iter(())
        return driver_chunks.rejected_chunks(self._rejected, self._plan.chunk_bytes)

    def unknown_schema_ids(self, excluded: Collection[int]) -> list[int]:
        """Returns ids that a Spark job reads from the cached rows."""
        rows = self.frame if self._rejected is None else self._rejected
        return schema_ids_in_spark(_of_unknown_schemas(rows), excluded)


class JudgedInSpark:
    """A fold in Spark's cache whose records are judged by arrival: by the driver, in chunks."""

    frame: None = None

    def __init__(self, plan: FoldPlan, packed: DataFrame, span: ArrivalSpan) -> None:
        """Computes `packed`, which the caller has persisted and keeps until the rows are written."""
        self._plan = plan
        self.groupings = plan.groupings
        is_rise = F.col(c.GROUPING) == RISE
        rises = packed.where(is_rise).toArrow()
        self.rises, self.unsettled = rises_of(rises), unsettled_of(rises)
        self._judgement = plan.judgement(span.before, self.rises)
        self._rows = packed.where(~is_rise)
        self.statistics = [Statistic(*row) for row in plan.spark_statistics(plan.unpacked(self._rows)).collect()]
        self._bytes = sum(row.bytes for row in self.statistics)
        self.row_count = self._bytes // ROW_BYTES
        # A record that may be late is in no statistic of Spark's.
        for rows in self._judged(self._rows.where(F.col(c.TIME).isNotNull())):
            self.statistics += plan.driver_statistics(rows)

    def chunks(self, consumers: Sequence[Consumer]) -> Iterator[pa.Table]:  # noqa: ARG002 - the driver writes all
        """Yields all rows, judged and unpacked."""
        return map(self._plan.unpacked_rows, self._judged(self._rows))

    def rejected(self) -> Iterator[pa.Table]:
        """Yields nothing: the chunks contain the rejected records."""
        return iter(())

    def unknown_schema_ids(self, excluded: Collection[int]) -> list[int]:
        """Returns ids that a Spark job reads from the cached rows."""
        return schema_ids_in_spark(_of_unknown_schemas(self._plan.unpacked(self._rows)), excluded)

    def _judged(self, packed: DataFrame) -> Iterator[pa.Table]:
        differing = F.col(GROUP), F.col(REJECTED)[0][c.OFFSET]
        chunks = driver_chunks.spark_chunks(packed, self._bytes, self._plan.chunk_bytes, *differing)
        return map(self._judgement.of, chunks)


def _of_unknown_schemas(rows: DataFrame) -> DataFrame:
    return rows.where((F.col(c.CHECK) == int(Check.SCHEMA_ID)) & (F.col(c.GROUPING) == REJECTED_RECORD))
