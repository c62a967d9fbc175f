"""Rows of `panes` as a Spark frame, for executors to write: row by row what `outputs.panes` returns on the driver.

Nearly every batch goes through the driver, because planning a frame would cost more than all of its rows. Frames are
for a batch that is too large for one process.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.fold.grouped_records import REJECTED_RECORD
from tidemark.pipeline.fold.grouping_sets import Groupings
from tidemark.pipeline.fold.outputs import stored_keys
from tidemark.pipeline.measures import Join

_BOUNDS_SQL: Final = "pane bigint, window_start bigint, window_end bigint"


class BatchStamp(NamedTuple):
    """The id of a batch and the watermark before it in milliseconds, which its rows of `panes` store."""

    batch: int
    watermark: int | None


def without_sketches(consumers: Sequence[Consumer]) -> list[Consumer]:
    """Returns the consumers whose panes executors can write: the driver writes those with sketches."""
    return [consumer for consumer in consumers if all(not part.join.is_sketch for part in consumer.parts)]


def driver_rows(folded: DataFrame, consumers: Sequence[Consumer], groups: Groupings) -> DataFrame:
    """Returns the rows of a fold that the driver still needs: rejected records, and rows of `consumers`."""
    return folded.where(F.col(c.GROUPING).isin([REJECTED_RECORD, *(groups.of(consumer) for consumer in consumers)]))


def panes_frame(
    folded: DataFrame, consumer: Consumer, groups: Groupings, stamp: BatchStamp, panes: Collection[int]
) -> DataFrame:
    """Returns a consumer's rows of `panes`, without the columns that the consumer does not need.

    `panes` are the starts, in milliseconds since 1970, of all panes in the fold.
    """
    in_time_from = lateness.in_time_from(consumer, stamp.watermark)
    rows = _counts(folded.where(groups.belongs(consumer, in_time_from, F.col)), consumer, groups)
    if groups.adds_up(consumer):
        rows = _added_up(rows, consumer)
    constants: Mapping[str, Any] = {
        c.BATCH: stamp.batch,
        c.WATERMARK: rules.as_number(stamp.watermark),
        c.CLOSED_UNTIL: lateness.closed_until(consumer, stamp.watermark),
    }
    rows = rows.withColumns({name: F.lit(value).cast("long") for name, value in constants.items()})
    return rows if isinstance(consumer, UserTotals) else _with_windows(rows, consumer, panes)


def _counts(rows: DataFrame, consumer: Consumer, groups: Groupings) -> DataFrame:
    is_late = F.col(c.FLAGS).isin(sorted(groups.late(consumer)))
    position = [c.RECORD_POSITION] if consumer.keeps_events else []
    keys = {consumer.stored(name): F.col(name) for name in stored_keys(consumer)}
    parts = {part.name: F.col(part.folded).alias(part.name) for part in consumer.parts if part.name not in keys}
    pane, shift_ms, pane_ms = F.col(c.PANE_START), consumer.shift_ms, consumer.pane_ms
    if not consumer.keeps_events:
        pane = F.expr(f"(({c.PANE_START} + {shift_ms}) div {pane_ms}) * {pane_ms} - {shift_ms}")
    return rows.select(
        pane.alias(c.PANE_START),
        *(column.alias(name) for name, column in keys.items()),
        *position,
        *parts.values(),
        F.when(is_late, F.col(c.RECORDS)).otherwise(0).cast("long").alias(c.LATE_EVENTS),
    )


def _added_up(rows: DataFrame, consumer: Consumer) -> DataFrame:
    functions = {part.name: part.join.value for part in consumer.parts} | {c.LATE_EVENTS: Join.SUM.value}
    sums = [F.expr(f"{function}({name})").alias(name) for name, function in functions.items()]
    return rows.groupBy(c.PANE_START, *consumer.pane_keys).agg(*sums)


def _with_windows(rows: DataFrame, report: Report, panes: Collection[int]) -> DataFrame:
    """Returns the rows with the bounds of each pane's window, if readers of panes cannot compute them."""
    windows = report.windows
    if not windows.panes_store_bounds:
        return rows
    starts = {(pane + report.shift_ms) // report.pane_ms * report.pane_ms - report.shift_ms for pane in panes}
    pane_bounds = [(start, *next(windows.of(start))) for start in sorted(starts)]
    bounds = rows.sparkSession.createDataFrame(pane_bounds, _BOUNDS_SQL)
    bounds = bounds.toDF("pane", c.WINDOW_START_MS, c.WINDOW_END_MS)
    return rows.join(F.broadcast(bounds), F.col(c.PANE_START) == F.col("pane")).drop("pane")
