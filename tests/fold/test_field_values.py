"""Values of measures of fields: exact numbers of every type and version of a schema, and what is left out."""

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import MAPPED, NOW, record, written
from tests.support.seeds import SEED
from tidemark.pipeline.app import plan_fold
from tidemark.pipeline.ddsketch import bucket_of
from tidemark.pipeline.decoding.decode import decoded
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
from tidemark.pipeline.fold.field_values import unread
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.schemas.fields import EventFields, EventSchemas

pytestmark = pytest.mark.jvm

CART: Final = {"type": "record", "name": "Cart", "fields": [{"name": "price", "type": "double"}]}
WHOLE: Final = {"type": "record", "name": "Cart", "fields": [{"name": "price", "type": "int"}]}
FURTHER: Final = (
    {"name": "n", "type": ["null", "long"], "default": None},
    {"name": "small", "type": "float", "default": 0},
    {"name": "text", "type": ["null", "string"], "default": None},
    {"name": "is_new", "type": "boolean", "default": False},
    {"name": "xs", "type": {"type": "array", "items": "long"}, "default": []},
)
OLD: Final = {1: record({"name": "cart", "type": CART}), 2: record({"name": "cart", "type": WHOLE})}
NEW: Final = {3: record({"name": "cart", "type": ["null", CART]}, *FURTHER)}
MOST: Final = 2**63 - 1
DEFAULTS: Final[dict[str, Any]] = {"cart": None, "n": None, "small": 0.0, "text": None, "is_new": False, "xs": []}


def settings_of(measures: Mapping[str, Any]) -> Settings:
    return Settings.model_validate({"measures": measures, "reports": {"few": {"measures": [*measures]}}})


def values_of(measures: Mapping[str, Any], events: Sequence[tuple[int, dict[str, Any]]]) -> list[tuple[Any, ...]]:
    """Returns the values of measures in the order of their names, of events with the ids of their schemas."""
    schemas = EventSchemas({key: json.dumps(schema) for key, schema in {**OLD, **NEW}.items()}, MAPPED)
    values = [written(key, {**OLD, **NEW}[key], {**(DEFAULTS if key in NEW else {}), **event}) for key, event in events]
    return folded(schemas, measures, values)


def folded(schemas: EventSchemas, measures: Mapping[str, Any], values: Sequence[bytes]) -> list[tuple[Any, ...]]:
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    policy = settings_of(measures).policy()
    plan = FoldPlan(schemas, policy, len(values))
    count = len(values)
    columns = {"key": [b""] * count, "value": [*values], "partition": [*range(count)], "offset": [0] * count}
    types = {"key": pa.binary(), "value": pa.binary(), "partition": pa.int32(), "offset": pa.int64()}
    rows = pa.table(
        {**columns, "kafka_timestamp": [NOW] * count}, schema=pa.schema({**types, "kafka_timestamp": pa.int64()})
    )
    keyed = plan.keyed(decoded(spark.createDataFrame(rows), plan.decoding_plan), BatchContext(None, NOW))
    names = [measure.column for measure in policy.field_measures]
    return [tuple(row) for row in keyed.select(*(f"`{name}`" for name in names)).collect()]


@pytest.mark.parametrize(
    ("digits", "price", "expected"),
    [
        (2, 12.34, 1234),
        (2, -0.07, -7),
        (2, 0.1 + 0.2, None),
        (2, 12.345, None),
        (9, 1e-9, 1),
        (9, 1e-10, None),
        (9, 1000.0, 10**12),
        (9, 1000.000000001, None),
        (0, 1e12, 10**12),
        (0, 1e12 + 1, None),
        (0, 0.5, None),
        (2, float("nan"), None),
        (2, float("inf"), None),
        (2, 1e300, None),
    ],
)
def test_a_number_is_exact_or_left_out(digits: int, price: float, expected: int | None) -> None:
    assert values_of({"m": {"sum": "cart.price", "digits": digits}}, [(1, {"cart": {"price": price}})]) == [(expected,)]


def test_every_version_and_type_of_a_field_has_its_numbers() -> None:
    measures = {
        "m1": {"sum": "cart.price", "digits": 2},
        "m2": {"max": "n"},
        "m3": {"avg": "small", "digits": 3},
        "m4": {"min": "text", "digits": 1},
        "m5": {"count_if": "n > 5"},
        "m6": {"first": "text"},
        "m7": {"sum": {"sql": "try_multiply(n, cardinality(xs))"}},
    }
    events: list[tuple[int, dict[str, Any]]] = [
        (1, {"cart": {"price": 7.25}}),
        (2, {"cart": {"price": -3}}),
        (3, {"cart": {"price": 0.01}, "n": 10**18 - 1, "small": 12.345, "text": "-1.5", "xs": [1]}),
        (3, {"n": 10**18, "text": "1e3", "xs": []}),
        (3, {"cart": {"price": 5.0}, "n": MOST, "text": "five", "xs": [1, 2]}),
    ]
    assert values_of(measures, events) == [
        (725, None, None, None, 0, None, None),
        (-300, None, None, None, 0, None, None),
        (1, 10**18 - 1, 12345, -15, 1, "-1.5", None),
        (None, None, 0, 10_000, 1, "1e3", 0),
        (500, None, 0, None, 1, "five", None),
    ]


DECIMAL: Final = {"logicalType": "decimal", "precision": 20, "scale": 4}
MONEY: Final = (
    {"name": "paid", "type": ["null", {"type": "bytes", **DECIMAL}], "default": None},
    {"name": "fee", "type": {"type": "fixed", "name": "Fee", "size": 9, **DECIMAL, "scale": 1}},
)


def test_decimals_of_avro_are_as_exact() -> None:
    schema = record(*MONEY)
    paid = [Decimal(text) for text in ("12.3400", "-0.07", "0.001", "9999999999.99", "1e12", "0")]
    values = [written(1, schema, {"paid": one, "fee": Decimal("2.5")}) for one in paid]
    values.append(written(1, schema, {"paid": None, "fee": Decimal("-1.0")}))
    measures = {
        "m1": {"sum": "paid", "digits": 2},
        "m2": {"max": "fee", "digits": 1},
        "m3": {"avg": {"sql": "paid * 2"}, "digits": 4},
        "m4": {"count_if": "paid > 12"},
        "m5": {"first": "paid"},
    }
    assert folded(EventSchemas({1: json.dumps(schema)}, MAPPED), measures, values) == [
        (1234, 25, 246_800, 1, "12.3400"),
        (-7, 25, -1400, 0, "-0.0700"),
        (None, 25, 20, 0, "0.0010"),
        (10**12 - 1, 25, None, 1, "9999999999.9900"),
        (None, 25, None, 1, "1000000000000.0000"),
        (0, 25, 0, 0, "0.0000"),
        (None, -10, None, 0, None),
    ]


def exact(number: float | str, digits: int, bound: int) -> int | None:
    """Returns a number times 10 ** `digits` by Python's decimals."""
    scaled = Decimal(str(number)).scaleb(digits)
    return int(scaled) if scaled == int(scaled) and abs(scaled) <= bound else None


def bucket_text(number: int | None) -> str | None:
    return None if number is None else str(bucket_of(number))


def test_a_number_has_its_bucket_or_is_left_out() -> None:
    numbers = [0, 1, -1, 127, 128, 255, 256, -128, -257, 2**53 + 1, 10**18 - 1, 1 - 10**18, None, 10**18, MOST, -MOST]
    events: list[tuple[int, dict[str, Any]]] = [(3, {"n": number}) for number in numbers]
    buckets = [bucket_text(None if number is None or abs(number) >= 10**18 else number) for number in numbers]
    found = values_of({"m": {"quantiles": "n", "at": [0.5, 0.9]}}, events)
    assert found == [(bucket,) for bucket in buckets]
    prices = [float("nan"), float("inf"), -0.0, 0.001, 0.0005, 1e300]
    events = [(1, {"cart": {"price": price}}) for price in prices]
    measures = {"m": {"quantiles": "cart.price", "at": [0.5], "digits": 3}}
    assert values_of(measures, events) == [(None,), (None,), ("0",), ("1",), (None,), (None,)]


def test_numbers_drawn_at_random_are_exact() -> None:
    chance = Random(SEED)
    near = [round(chance.uniform(-1e6, 1e6), chance.randrange(6)) for _ in range(1_500)]
    sums = [chance.randrange(10**6) / 100 + chance.randrange(10**6) / 100 for _ in range(500)]
    far = [float(chance.randrange(10**13)) / 10 ** chance.randrange(12) for _ in range(500)]
    prices = [*near, *sums, *far]
    events: list[tuple[int, dict[str, Any]]] = [
        (3, {"cart": {"price": price}, "text": str(price), "n": chance.randrange(-(10**13), 10**13)})
        for price in prices
    ]
    measures = {
        "m1": {"sum": "cart.price", "digits": 2},
        "m2": {"max": "cart.price", "digits": 4},
        "m3": {"avg": "text", "digits": 3},
        "m4": {"min": "text", "digits": 9},
        "m5": {"sum": "n", "digits": 1},
        "m6": {"quantiles": "text", "digits": 9, "at": [0.5]},
    }
    expected = [
        (
            exact(price, 2, 10**12),
            exact(price, 4, 10**18 - 1),
            exact(event["text"], 3, 10**12),
            exact(event["text"], 9, 10**18 - 1),
            exact(event["n"], 1, 10**12),
            bucket_text(exact(event["text"], 9, 10**18 - 1)),
        )
        for price, (_, event) in zip(prices, events, strict=True)
    ]
    assert values_of(measures, events) == expected


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        *[
            ("12.34", 1234),
            ('"12.340"', 1234),
            ("1e1", 1000),
            ('"x"', None),
            ("true", None),
            ("null", None),
            ("[1]", None),
        ],
        *[('"-.5"', -50), ('"5."', 500), ('"."', None), ('"-"', None), ('""', None), ('"+1.50"', 150), ('" 7 "', 700)],
        *[('"1.2.3"', None), ('"0.001"', None), ('"--1"', None), ('"1e999999999"', None), ('"1e-999999999"', None)],
        *[('"0000000000000000000001.5"', 150), ('"0.10000000000000000000000"', 10), ('"1e"', None), ('"0e99999"', 0)],
        *[('"10000000000"', 10**12), ('"10000000000.01"', None), ('"-99999999999999999999"', None), ('"NaN"', None)],
        *[('"' + "1" * 100 + '"', None), ("[1]", None)],
    ],
)
def test_a_field_of_json_has_its_number(price: str, expected: int | None) -> None:
    value = f'{{"user_id": "ann", "event_time": {NOW}, "event_type": "visit", "cart": {{"price": {price}}}}}'
    schemas = EventSchemas({}, EventFields(), format="json")
    assert folded(schemas, {"m": {"sum": "cart.price", "digits": 2}}, [value.encode()]) == [(expected,)]


def test_a_value_that_is_no_number_can_be_told_from_none() -> None:
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    rows = spark.createDataFrame([("12.3",), ("12.34",), ("x",), (None,)], "price string")
    measure = FieldMeasure("m", Function.SUM, "price", digits=1)
    assert [row[0] for row in rows.select(unread(measure)).collect()] == [False, True, True, False]


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        ({"sum": "xs"}, "measures.m is of array<bigint>: sum is of numbers"),
        ({"max": "is_new"}, "measures.m is of boolean: max is of numbers"),
        ({"quantiles": "xs", "at": [0.5]}, "measures.m is of array<bigint>: quantiles is of numbers"),
        ({"last": "cart"}, "struct<price:double>: last is of one value, so name a field inside"),
        ({"count_if": "n"}, "measures.m is of bigint: count_if is of a condition"),
        ({"sum": "cart.cost"}, "measures.m is of cart.cost, which no schema of the topic has"),
        ({"avg": "none"}, "measures.m cannot be computed of an event: [UNRESOLVED_COLUMN"),
        ({"count_if": "n >"}, "measures.m cannot be computed of an event: [PARSE_SYNTAX_ERROR"),
        ({"sum": {"sql": "text * 2"}}, "measures.m reads text as"),
    ],
)
def test_a_start_refuses_a_measure_that_its_field_cannot_have(measure: dict[str, Any], sentence: str) -> None:
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    schemas = EventSchemas({key: json.dumps(schema) for key, schema in NEW.items()}, MAPPED)
    with pytest.raises(SetUpError, match=re.escape(sentence)):
        plan_fold(spark, schemas, settings_of({"m": measure}).policy())
