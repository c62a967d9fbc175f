"""Any cut of a topic gives the tables of the rule by arrival, through a whole fold in Spark."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.event_time.arrival_rule import Record, Topic, steps_of
from tests.event_time.test_arrival import Cut, random_cuts, random_policy, random_topic
from tests.fold.test_arrival_judgement import REPORTS, Tables, add, by_the_rule, name_of
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import NOW
from tests.support.seeds import SEED
from tests.support.topic_writer import value_of
from tidemark.pipeline.decoding.decode import decoded
from tidemark.pipeline.event_time.arrival import ArrivalSpan, ArrivalState, Arrived
from tidemark.pipeline.event_time.policy import JudgedBy, Policy
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.fold.arrival_spec import rises_of
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

pytestmark = pytest.mark.jvm

SCHEMA: Final = pa.schema(
    {"key": pa.binary(), "value": pa.binary(), "partition": pa.int32(), "offset": pa.int64(),
     "kafka_timestamp": pa.int64()}
)  # fmt: skip
_FUTURE_MS: Final = 100_000


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


@pytest.mark.parametrize("case", range(3))
def test_any_cut_gives_the_panes_dead_letters_and_counts_of_the_rule(spark: SparkSession, case: int) -> None:
    chance = Random(SEED + case)
    topic = random_topic(chance)
    while sum(map(len, topic)) < 60:
        topic = random_topic(chance)
    policy = replace(random_policy(chance), strategy=Bounded(500), caps_watermark=False, judged=JudgedBy.ARRIVAL)
    policy = replace(policy, reports=tuple(chance.sample(REPORTS, 3)))
    expected = by_the_rule(topic, policy)
    assert expected.letters
    for cuts in ([], random_cuts(chance, topic)[:5]):
        assert in_batches(spark, topic, policy, cuts) == expected


def in_batches(spark: SparkSession, topic: Topic, policy: Policy, cuts: Sequence[Cut]) -> Tables:
    plan, tables = FoldPlan(EventSchemas(load_schemas()), policy, len(topic)), Tables()
    state = ArrivalState({number: Arrived() for number in range(len(topic))})
    arrived, places = [[step for step, _ in steps_of(records)] for records in topic], [0] * len(topic)
    end = max((steps[-1] for steps in arrived if steps), default=-1) + 1
    for step in [*(step for step in cuts if step < end), end]:
        rows = list[dict[str, Any]]()
        for number, steps in enumerate(arrived):
            start, places[number] = places[number], int(np.searchsorted(steps, step))
            rows += (row_of(topic[number][index], number, index) for index in range(start, places[number]))
        records = spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA)).coalesce(1)
        keyed = plan.keyed(decoded(records, plan.decoding_plan), BatchContext(state.watermark, NOW))
        packed = plan.packed(keyed, ArrivalSpan(state, step)).toArrow()
        rises = rises_of(packed)
        add(tables, plan.judgement(state, rises).of(packed), policy, len(topic))
        state = state.after(rises, step, policy)
    return tables


def row_of(record: Record, partition: int, index: int) -> dict[str, Any]:
    time = record.time if record.moves else record.kafka_timestamp + _FUTURE_MS
    value = value_of(name_of(index), time)[: None if record.is_event else 8]
    return {"value": value, "partition": partition, "offset": index, "kafka_timestamp": record.kafka_timestamp}
