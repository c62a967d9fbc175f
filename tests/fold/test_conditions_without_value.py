"""Conditions that have no value for an event, and numbers at the end of their range: no record stops the service."""

import json
import re
from typing import Any, Final

import pytest

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import MAPPED, NOW, record, verdicts, written
from tidemark.pipeline.app import plan_fold
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.schemas.fields import EventSchemas

SCHEMA: Final = record(
    {"name": "n", "type": ["null", "long"], "default": None},
    {"name": "xs", "type": {"type": "array", "items": "long"}, "default": []},
    {"name": "size", "type": "string", "default": ""},
)
MOST: Final = 2**63 - 1

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize(
    ("where", "met", "not_met"),
    [
        ("10 / n > 2", {"n": 4}, {"n": 0}),
        ("10 div n > 2", {"n": 3}, {"n": 0}),
        ("10 % n = 1", {"n": 3}, {"n": 0}),
        ("n * 2 = 8", {"n": 4}, {"n": MOST}),
        ("cast(n AS int) = 5", {"n": 5}, {"n": MOST}),
        ("xs[1] = 5", {"n": 5, "xs": [4, 5]}, {"n": 5, "xs": [5]}),
        ("n > 5", {"n": 6}, {"n": None}),
    ],
)
def test_a_condition_without_a_value_is_not_met(where: str, met: dict[str, int], not_met: dict[str, int]) -> None:
    values = [written(1, SCHEMA, {"xs": [], "size": "", **event}) for event in (met, not_met)]
    assert verdicts({1: SCHEMA}, values, where) == [(Check.PASSED, True), (Check.PASSED, False)]


@pytest.mark.parametrize("time", [MOST, -MOST - 1, 0])
def test_a_time_at_the_end_of_its_range_is_a_dead_letter(time: int) -> None:
    value = written(1, SCHEMA, {"t": time, "n": 1, "xs": [], "size": ""})
    assert verdicts({1: SCHEMA}, [value]) == [(Check.EVENT_TIME, False)]


@pytest.mark.parametrize("at", [MOST, -1])
def test_a_kafka_timestamp_at_the_end_of_its_range_is_no_error(at: int) -> None:
    value = written(1, SCHEMA, {"t": NOW, "n": 1, "xs": [], "size": ""})
    assert verdicts({1: SCHEMA}, [value], kafka_timestamp=at) == [(Check.PASSED, False)]


@pytest.mark.parametrize(
    "where", ["uuid() > size", "n > rand()", "size > 5", "size BETWEEN 1 AND 2", "double(size) > 5.5", "sum(n) > 1"]
)
def test_a_start_refuses_a_condition_that_cannot_mean_what_it_says(where: str) -> None:
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    policy = Settings.model_validate({"reports": {"few": {"where": where}}}).policy()
    with pytest.raises(SetUpError, match=r"reports\.few\.where"):
        plan_fold(spark, EventSchemas({1: json.dumps(SCHEMA)}, MAPPED), policy)


@pytest.mark.parametrize(
    ("dimension", "sentence"),
    [
        ("xs", "dimensions.d is array<bigint>: a dimension is one value"),
        ("place.city", "dimensions.d is place.city, which no schema of the topic has"),
        ("none", "dimensions.d cannot be computed of an event: [UNRESOLVED_COLUMN"),
        ({"sql": "sum(n)"}, "dimensions.d"),
        ({"sql": "n +"}, "dimensions.d cannot be computed of an event: [PARSE_SYNTAX_ERROR"),
        ({"sql": "size > 5", "type": "boolean"}, "dimensions.d reads size as"),
        (
            {"sql": "date_diff(current_date, timestamp_millis(event_time))", "type": "integer"},
            "depends on current_date(",
        ),
        ({"sql": "upper(concat(size, now()))"}, "dimensions.d depends on now()"),
        ({"sql": "unix_timestamp() > n", "type": "boolean"}, "dimensions.d depends on current_timestamp()"),
        ({"sql": "round(rand() * 5)"}, "dimensions.d depends on rand("),
        ({"sql": "monotonically_increasing_id() % 7"}, "dimensions.d depends on monotonically_increasing_id()"),
    ],
)
def test_a_start_refuses_a_dimension_that_cannot_be_one_value(dimension: Any, sentence: str) -> None:
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    policy = Settings.model_validate({"dimensions": {"d": dimension}, "reports": {"few": {"keys": ["d"]}}}).policy()
    with pytest.raises(SetUpError, match=re.escape(sentence)):
        plan_fold(spark, EventSchemas({1: json.dumps(SCHEMA)}, MAPPED), policy)
