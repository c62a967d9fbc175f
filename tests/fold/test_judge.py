"""The verdict on each record of a batch, and how far it may move the watermark, by Spark."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import NOW
from tests.support.topic_writer import value_of
from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.decode import decoded
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.packed import unpacked
from tidemark.pipeline.fold.record_columns import MOVING_TIME, BatchContext
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

pytestmark = pytest.mark.jvm

SECOND, MINUTE = 1_000, 60_000
RECORDS = pa.schema({"key": pa.binary(), "value": pa.binary(), "partition": pa.int32(), "offset": pa.int64(),
                     "kafka_timestamp": pa.int64()})  # fmt: skip
SETTINGS: dict[str, Any] = {
    "time": {"bound": "0s", "allowed_lateness": "0s", "max_future_skew": "30s", "max_ahead_of_clock": "10s"},
    "window": {"size": "2m", "slide": "1m"},
}


def judged(*seconds: tuple[float, float]) -> list[tuple[Check, float | None]]:
    """Takes event times and Kafka timestamps, in seconds after the clock, at a watermark 5 minutes before the clock.

    Returns each verdict, and the second up to which the record may move the watermark; None: it may not.
    """
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    schemas, policy = EventSchemas(load_schemas()), Settings.model_validate(SETTINGS).policy()
    plan = FoldPlan(schemas, policy, 1)
    rows = pa.table(
        [
            [b"ann"] * len(seconds),
            [value_of("ann", int(NOW + time * SECOND)) for time, _ in seconds],
            [0] * len(seconds),
            [*range(len(seconds))],
            [int(NOW + arrived * SECOND) for _, arrived in seconds],
        ],
        schema=RECORDS,
    )
    context = BatchContext(NOW - NOW % MINUTE - 5 * MINUTE, NOW)
    keyed = plan.keyed(decoded(spark.createDataFrame(rows), plan.decoding_plan), context)
    found = keyed.select(*unpacked(plan.groupings, 1), F.col(MOVING_TIME)).toArrow().to_pylist()
    return [
        (Check(row[c.CHECK]), row[MOVING_TIME] if row[MOVING_TIME] is None else (row[MOVING_TIME] - NOW) / SECOND)
        for row in found
    ]


def test_an_event_moves_the_watermark_up_to_its_kafka_timestamp_and_the_clock() -> None:
    assert judged((-5, -2), (-1, -3), (5, 8), (10, 10), (0, 0)) == [
        (Check.PASSED, -5), (Check.PASSED, -3), (Check.PASSED, 0), (Check.PASSED, 0), (Check.PASSED, 0)
    ]  # fmt: skip


def test_events_from_the_future_are_rejected_and_do_not_move_the_watermark() -> None:
    ahead = [(10.001, 10.001), (5, -26)]  # of the service's clock, and of the Kafka timestamp
    assert judged(*ahead) == [(Check.AHEAD_OF_CLOCK, None), (Check.FUTURE, None)]


def test_an_event_that_missed_some_of_its_overlapping_windows_is_partly_late() -> None:
    #  minute    -7      -6      -5 = watermark, and the end of the first of these windows
    #  windows   | closed         |
    #                    | open           |
    before = -(NOW % MINUTE) / SECOND - 300
    assert [check for check, _ in judged((before - 90, 0), (before - 30, 0), (before + 30, 0))] == [
        Check.TOO_LATE, Check.PARTLY_LATE, Check.PASSED
    ]  # fmt: skip
