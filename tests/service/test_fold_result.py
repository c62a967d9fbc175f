"""Both results of a fold contain the same rows, dead letters and unknown schema ids."""

from collections import Counter
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import as_read
from tests.support.topic_writer import value_of
from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.wire_format import id_bytes, schema_ids, schema_ids_in_spark
from tidemark.pipeline.event_time.arrival import STEP_MS, ArrivalSpan, ArrivalState, Arrived
from tidemark.pipeline.event_time.policy import JudgedBy, Verdict
from tidemark.pipeline.event_time.tallies import Tallies
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.fold_result import FoldResult, InSpark, JudgedInSpark, OnDriver
from tidemark.pipeline.fold.outputs import dead_letters, panes
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.producers.encode import header
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas, Guid

SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
STAMP = datetime(2026, 1, 1, tzinfo=UTC)
NOW = int(STAMP.timestamp() * 1000)
CONTEXT = BatchContext(NOW - 100_000, NOW)
POLICY = Settings().policy()


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


def records(spark: SparkSession) -> DataFrame:
    values = [(value_of("ann", NOW - 30_000 * n), b"noise", header(70 + n % 3) + b"x", b"")[n % 4] for n in range(60)]
    return spark.createDataFrame([(b"k", value, "t", n % 2, n, STAMP) for n, value in enumerate(values)], SCHEMA)


def judged_results(spark: SparkSession) -> Iterator[FoldResult]:
    """Yields the results of a batch whose records are judged by arrival: of three times one is late at its step."""
    policy = replace(POLICY, judged=JudgedBy.ARRIVAL)
    plan, rows = FoldPlan(EventSchemas(load_schemas()), policy, 2), records(spark)
    arrived = {number: Arrived(NOW + 100_000, NOW // STEP_MS - 1) for number in (0, 1)}
    before = ArrivalState(arrived, NOW // STEP_MS, NOW - 30_000, NOW // STEP_MS - 1)
    span = ArrivalSpan(before, NOW // STEP_MS + 1)
    packed = plan.packed(plan.keyed(as_read(rows, plan), BatchContext(NOW - 30_000, NOW)), span)
    yield OnDriver(plan, packed.toArrow(), span)
    yield JudgedInSpark(plan, packed, span)
    yield JudgedInSpark(replace_chunks(plan), packed, span)


def replace_chunks(plan: FoldPlan) -> FoldPlan:
    """Returns the plan with so small chunks that each job gives a few rows."""
    small = copy(plan)
    small.chunk_bytes = 500
    return small


def results(spark: SparkSession) -> Iterator[FoldResult]:
    plan = FoldPlan(EventSchemas(load_schemas()), POLICY, 2)
    rows = records(spark)
    packed = plan.packed(plan.keyed(as_read(rows, plan), CONTEXT))
    yield OnDriver(plan, packed.toArrow())
    yield InSpark(plan, packed, None)
    counted, rejected = plan.split_rejected(plan.keyed(as_read(rows, plan), CONTEXT, keeps_apart=True))
    yield InSpark(plan, plan.packed(counted), rejected)


def rows_of(tables: Iterable[pa.Table]) -> Counter[str]:
    return Counter(str(sorted(row.items())) for table in tables for row in table.to_pylist())


def panes_of(result: FoldResult) -> Counter[str]:
    chunks = result.chunks(POLICY.consumers)
    return rows_of(panes(chunk, POLICY.consumers, result.groupings, 1, None) for chunk in chunks)


def dead_letters_of(result: FoldResult) -> Counter[str]:
    return rows_of(dead_letters(chunk, "t", 1, None, {}) for chunk in (*result.rejected(), *result.chunks(())))


@pytest.mark.jvm
def test_the_driver_writes_the_same_rows_wherever_they_are(spark: SparkSession) -> None:
    on_driver, in_spark, split = results(spark)
    for rows in (panes_of, dead_letters_of):
        assert rows(split) == rows(in_spark) == rows(on_driver) != Counter()
    assert [len(list(result.rejected())) for result in (on_driver, in_spark, split)] == [0, 0, 1]


@pytest.mark.jvm
def test_the_driver_judges_the_same_rows_wherever_they_are(spark: SparkSession) -> None:
    on_driver, *in_spark = judged_results(spark)
    tallies = Tallies.of_rows(on_driver.statistics)
    assert tallies.total([Verdict.TOO_LATE]) > 0
    assert tallies.total([Verdict.COUNTED]) > 0
    for result in in_spark:
        for rows in (panes_of, dead_letters_of):
            assert rows(result) == rows(on_driver) != Counter()
        found = Tallies.of_rows(result.statistics)
        assert (found.partitions, found.panes, found.ages_ms) == (tallies.partitions, tallies.panes, tallies.ages_ms)
        assert {*result.unknown_schema_ids([71])} == {*on_driver.unknown_schema_ids([71])}
        assert sorted(zip(*result.rises, strict=True)) == sorted(zip(*on_driver.rises, strict=True))


@pytest.mark.jvm
def test_both_have_the_same_statistics_and_the_same_unknown_schemas(spark: SparkSession) -> None:
    on_driver, *in_spark = results(spark)
    tallies = Tallies.of_rows(on_driver.statistics)
    assert {*on_driver.unknown_schema_ids([71])} == {70, 72}
    for result in in_spark:
        other = Tallies.of_rows(result.statistics)
        assert (other.partitions, other.malformed) == (tallies.partitions, tallies.malformed)
        assert {*result.unknown_schema_ids([71])} == {70, 72}


def test_no_more_ids_are_read_from_noise_than_are_asked_for() -> None:
    values = [b"\0" + number.to_bytes(4, "big") + b"x" for number in range(100)] * 2
    column = pa.chunked_array([values])
    assert schema_ids(column, ()) == [*range(20)]
    assert schema_ids(column, range(95)) == [*range(95, 100)]
    assert schema_ids(column, range(100)) == []


def test_unknown_ids_of_eight_bytes_are_returned() -> None:
    values = [b"\0\0\0\0\0\0\0\0\x07x", b"\0\0\0\0\x09x", b"\0\0\0\0\0"]
    assert schema_ids(pa.chunked_array([values]), ()) == [7, 9, 0]


@pytest.mark.jvm
def test_unknown_guids_are_returned_wherever_the_rows_are(spark: SparkSession) -> None:
    guids = [Guid(number) for number in (2**127, 7)]
    values = [b"\1" + id_bytes(each) + b"x" for each in guids]
    column = pa.chunked_array([values])
    rows = spark.createDataFrame(pa.table({c.VALUE: column}))
    for found in (schema_ids(column, ()), schema_ids_in_spark(rows, ())):
        assert {*map(str, found)} == {*map(str, guids)}
    assert schema_ids(column, guids) == schema_ids_in_spark(rows, guids) == []
