"""The verdict on each record, as columns: the first check that it fails, or none."""

from collections.abc import Mapping
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.frames import columns as c
from pipeline.frames.checks import Check
from pipeline.frames.decode import has_frame, has_known_schema
from pipeline.frames.projection import UNKNOWN_TYPE
from pipeline.time import rules
from pipeline.time.verdicts import Policy


def judge(decoded: DataFrame, schemas: Mapping[int, str], policy: Policy, watermark: Column) -> DataFrame:
    """Decoded records with the event's fields and `check`, the code of the first check that failed.

    `watermark` is the one from before the batch began, in milliseconds.
    """
    flat = decoded.select(
        c.KEY,
        c.VALUE,
        c.PARTITION,
        c.OFFSET,
        F.unix_millis("timestamp").alias(c.KAFKA_TIMESTAMP),
        "event.*",
    )
    # What is wrong with a frame is asked only where there is no event: for nearly every record never.
    no_event = _first_failed(_frame_checks(schemas), Check.AVRO)
    event = _first_failed(_event_checks(policy, watermark), Check.PASSED)
    return flat.withColumn(c.CHECK, F.when(F.col(c.EVENT_TIME).isNull(), no_event).otherwise(event))


def _first_failed(checks: Mapping[Check, Column], otherwise: Check) -> Column:
    chain: Any = F
    chain = reduce(lambda cases, item: cases.when(item[1], F.lit(int(item[0]))), checks.items(), chain)
    found: Column = chain.otherwise(F.lit(int(otherwise)))
    return found


def _frame_checks(schemas: Mapping[int, str]) -> dict[Check, Column]:
    """What can be wrong before there is an event."""
    return {
        Check.EMPTY_VALUE: F.col(c.VALUE).isNull() | (F.length(c.VALUE) == 0),
        Check.MAGIC_BYTE: ~has_frame(),
        Check.SCHEMA_ID: ~has_known_schema(schemas),
    }


def _event_checks(policy: Policy, watermark: Column) -> dict[Check, Column]:
    """What can be wrong with an event; lateness comes last, since it needs a time that can be trusted."""
    time = F.col(c.EVENT_TIME)
    window_end = rules.pane_start(time, policy.window_ms) + policy.window_ms
    return {
        Check.EVENT_TYPE: F.col(c.EVENT_TYPE) == UNKNOWN_TYPE,
        Check.USER_ID: F.col(c.USER_ID) == "",
        Check.EVENT_TIME: ~rules.in_range(time),
        Check.FUTURE: rules.is_future(time, F.col(c.KAFKA_TIMESTAMP), policy.max_future_skew_ms),
        Check.TOO_LATE: rules.has_closed(window_end, watermark, policy.allowed_lateness_ms),
    }
