"""The published result: what a window's committed panes add up to."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.frames import columns as c
from pipeline.time import rules
from pipeline.time.windows import Due


def page_views(panes: DataFrame, due: Due, last_batches: Sequence[int], window_ms: int) -> DataFrame:
    """Rows of `page_views` for the windows in `due`: a pure function of committed panes.

    `last_batches` holds the last committed batch of each epoch, the first epoch first: panes of a later batch are void.
    """
    committed = F.col(c.BATCH) <= _last_batch_of_its_epoch(last_batches)
    end = F.col(c.PANE_START) + window_ms
    fired_before = rules.has_fired(end, F.col(c.WATERMARK))
    events = F.col(c.PAGE_VIEWS) + F.col(c.CLICKS)
    return (
        panes.where(is_due(F.col(c.PANE_START), due, window_ms) & committed)
        .groupBy(c.PANE_START, c.USER_ID)
        .agg(
            F.sum(c.PAGE_VIEWS).alias(c.PAGE_VIEWS),
            F.sum(c.CLICKS).alias(c.CLICKS),
            F.sum(F.when(fired_before, events).otherwise(0)).alias(c.LATE_EVENTS),
            F.max(c.BATCH).alias("newest"),
        )
        .select(
            F.timestamp_millis(c.PANE_START).alias(c.WINDOW_START),
            F.timestamp_millis(end).alias(c.WINDOW_END),
            c.USER_ID,
            c.PAGE_VIEWS,
            c.CLICKS,
            c.LATE_EVENTS,
            F.greatest("newest", _fired_by(end, due.steps)).alias(c.PUBLISHED_BATCH),
        )
    )


def is_due(pane_start: Column, due: Due, window_ms: int) -> Column:
    """Whether a pane belongs to a window in `due`."""
    fires = (pane_start > due.after - window_ms) & (pane_start <= due.upto - window_ms)
    return fires | pane_start.isin([end - window_ms for end in sorted(due.again)])


def _fired_by(end: Column, steps: Sequence[tuple[int, int]]) -> Column:
    """The first batch whose watermark reached a window's end."""
    if len(steps) == 1:
        return F.lit(steps[0][1]).cast("long")
    known = F.array(
        *[F.struct(F.lit(boundary).alias("boundary"), F.lit(batch).alias("batch")) for boundary, batch in steps]
    )
    return F.get(F.filter(known, lambda step: step["boundary"] >= end), F.lit(0))["batch"].cast("long")


def _last_batch_of_its_epoch(last_batches: Sequence[int]) -> Column:
    epoch = F.floor(F.col(c.BATCH) / 1_000_000_000).cast("int")
    return F.get(F.lit(list(last_batches)), epoch - 1)
