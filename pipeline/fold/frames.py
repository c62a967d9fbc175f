"""Rows of `panes` as a frame of Spark, for executors to write: row by row what `outputs.panes` makes on the driver.

That is the way of nearly every batch, in which to plan a frame would cost more than all of its rows; this is the way of
one that is too large for one process.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time import lateness, rules
from pipeline.event_time.checks import Check
from pipeline.event_time.policy import Consumer
from pipeline.event_time.reports import Report
from pipeline.fold.grouping_sets import Groupings
from pipeline.measures import Join

_BOUNDS = "pane bigint, window_start bigint, window_end bigint"


def without_sketches(consumers: Sequence[Consumer]) -> list[Consumer]:
    """Those whose panes a frame can tell: only the driver makes the sketches that others keep."""
    return [one for one in consumers if all(part.join is not Join.SKETCH for part in one.parts)]


def driver_rows(folded: DataFrame, consumers: Sequence[Consumer], groups: Groupings) -> DataFrame:
    """The rows of a fold that the driver needs all the same: rejected records, and those of some consumers."""
    rejected = (F.col(c.GROUPING) == 0) & (F.col(c.CHECK) > int(Check.PASSED))
    return folded.where(rejected | F.col(c.GROUPING).isin([groups.of(one) for one in consumers]))


def panes_frame(
    folded: DataFrame,
    consumer: Consumer,
    groups: Groupings,
    known: tuple[int, int | None],
    panes: Collection[int],
) -> DataFrame:
    """A consumer's partial counts, with the batch and the watermark from before it, which are `known`.

    `panes` are the starts of those that the fold has. Columns that the consumer does not need are not there.
    """
    batch, watermark = known
    rows = _counts(folded.where(groups.belongs(consumer, watermark, F.col)), consumer, groups)
    if groups.adds_up(consumer):
        rows = _added_up(rows, consumer)
    same: Mapping[str, Any] = {
        c.BATCH: batch,
        c.WATERMARK: rules.as_number(watermark),
        c.CLOSED_UNTIL: lateness.closed_until(consumer, watermark),
    }
    rows = rows.withColumns({name: F.lit(value).cast("long") for name, value in same.items()})
    return _with_windows(rows, consumer, panes) if isinstance(consumer, Report) else rows


def _counts(rows: DataFrame, consumer: Consumer, groups: Groupings) -> DataFrame:
    late = F.col(c.FLAGS).isin(sorted(groups.late(consumer)))
    position = [c.RECORD_POSITION] if consumer.by_event else []
    kept = [*consumer.fold_keys, *position, *(part.name for part in consumer.parts)]
    pane, shift_ms, pane_ms = F.col(c.PANE_START), consumer.shift_ms, consumer.pane_ms
    if not consumer.by_event:
        pane = F.expr(f"(({c.PANE_START} + {shift_ms}) div {pane_ms}) * {pane_ms} - {shift_ms}")
    return rows.select(
        pane.alias(c.PANE_START),
        *dict.fromkeys(kept),
        F.when(late, F.col(c.RECORDS)).otherwise(0).cast("long").alias(c.LATE_EVENTS),
    )


def _added_up(rows: DataFrame, consumer: Consumer) -> DataFrame:
    how = {part.name: part.join.value for part in consumer.parts} | {c.LATE_EVENTS: Join.SUM.value}
    sums = [F.expr(f"{function}({name})").alias(name) for name, function in how.items()]
    return rows.groupBy(c.PANE_START, *consumer.pane_keys).agg(*sums)


def _with_windows(rows: DataFrame, report: Report, panes: Collection[int]) -> DataFrame:
    """The window of each pane, where a reader of panes could not tell it."""
    windows = report.windows
    if not windows.panes_tell_windows:
        return rows
    starts = {(pane + report.shift_ms) // report.pane_ms * report.pane_ms - report.shift_ms for pane in panes}
    found = [(start, *next(windows.of(start))) for start in sorted(starts)]
    bounds = rows.sparkSession.createDataFrame(found, _BOUNDS).toDF("pane", c.WINDOW_START_MS, c.WINDOW_END_MS)
    return rows.join(F.broadcast(bounds), F.col(c.PANE_START) == F.col("pane")).drop("pane")
