"""The verdict on each record as columns: the code of the first check that it fails."""

import operator
from collections.abc import Mapping
from functools import reduce
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.projection import MISSING_TYPE, UNKNOWN_TYPE
from tidemark.pipeline.decoding.wire_format import has_frame, has_known_schema
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.dimensions import Type
from tidemark.pipeline.event_time.policy import Policy, TimeOf
from tidemark.pipeline.runtime.pyspark_internals import is_utf8
from tidemark.schemas.fields import EventSchemas


def time_of(policy: Policy, now: Column) -> Column:
    """Returns the event's time by the policy, in milliseconds; `now` is the clock at the start of the batch."""
    return {
        TimeOf.EVENT: F.col(c.EVENT_TIME),
        TimeOf.INGESTION: F.col(c.KAFKA_TIMESTAMP),
        TimeOf.PROCESSING: now,
    }[policy.time_of]


def arrival_of(policy: Policy, now: Column) -> Column:
    """Returns when a record arrived: its Kafka timestamp if that can be trusted, else `now`."""
    kafka_timestamp = F.col(c.KAFKA_TIMESTAMP)
    return F.when(rules.is_arrival(kafka_timestamp, now, policy.max_age_ms), kafka_timestamp).otherwise(now)


def check_of(schemas: EventSchemas, policy: Policy, late: Mapping[Check, Column], now: Column) -> Column:
    """Returns the code of the first check that a decoded record fails.

    `late` are the checks of lateness, which come last, because they need a trusted time;
    `now` is the clock at the start of the batch in milliseconds.
    """
    # The frame is checked only if there is no event: for nearly every record never.
    is_empty = {
        Check.TOMBSTONE if policy.leaves_out_tombstones else Check.EMPTY_VALUE: F.col(c.VALUE).isNull(),
        Check.EMPTY_VALUE: F.coalesce(F.length(c.VALUE), F.lit(0)) == 0,
    }
    if schemas.format == "json":
        without_event = _first_failed(is_empty, Check.JSON)
    else:
        frame = {Check.MAGIC_BYTE: ~has_frame(schemas), Check.SCHEMA_ID: ~has_known_schema(schemas)}
        without_event = _first_failed(is_empty | frame, Check.AVRO)
    event = _first_failed({**_event_checks(policy, now), **late}, Check.PASSED)
    return F.when(F.col(c.EVENT_TYPE).isNull(), without_event).otherwise(event)


def _first_failed(checks: Mapping[Check, Column], otherwise: Check) -> Column:
    cases: Any = F
    for check, has_failed in checks.items():
        cases = cases.when(has_failed, F.lit(int(check)))
    code: Column = cases.otherwise(F.lit(int(otherwise)))
    return code


def _event_checks(policy: Policy, now: Column) -> dict[Check, Column]:
    own_time, arrival = F.col(c.EVENT_TIME), arrival_of(policy, now)
    # These fields are written to tables as text, without further checks.
    keys = {c.USER_ID, *(key for consumer in policy.consumers for key in consumer.fold_keys)}
    keys |= {measure.column for measure in policy.field_measures if measure.function.is_of_text}
    of_other_types = {dimension.column for dimension in policy.dimensions if dimension.type is not Type.TEXT}
    texts = sorted(keys - {c.EVENT_TYPE} - of_other_types)
    checks = {
        # Avro's reader accepts any bytes as a string; readers of Parquet do not.
        Check.TEXT: reduce(operator.or_, (~is_utf8(name, SparkSession.active()) for name in texts)),
        Check.EVENT_TYPE: F.col(c.EVENT_TYPE).isin(UNKNOWN_TYPE, MISSING_TYPE),
        Check.USER_ID: F.col(c.USER_ID) == "",
        Check.NO_TIME: own_time.isNull(),
        Check.EVENT_TIME: ~rules.in_range(own_time),
        Check.FUTURE: rules.is_future(own_time, arrival, policy.max_future_skew_ms),
    }
    if policy.time_of is TimeOf.INGESTION:
        checks[Check.ARRIVAL] = ~rules.is_arrival(F.col(c.KAFKA_TIMESTAMP), now, policy.max_age_ms)
    if policy.time_of is not TimeOf.EVENT:
        del checks[Check.FUTURE]  # a wrong clock of a producer does no harm if its time is not used
    elif policy.max_age_ms is not None:
        checks[Check.AGE] = rules.is_too_old(own_time, arrival, policy.max_age_ms)
    if policy.max_ahead_ms is not None and policy.time_of is not TimeOf.PROCESSING:
        # The Kafka timestamp may come from the same wrong clock.
        clock = F.least(arrival, now) if policy.by_arrival else now
        checks[Check.AHEAD_OF_CLOCK] = rules.is_future(time_of(policy, now), clock, policy.max_ahead_ms)
    return checks


def readable(name: str) -> Column:
    """Returns the text in the column `name`, null if it is not UTF-8."""
    return F.when(is_utf8(name, SparkSession.active()), F.col(name))
