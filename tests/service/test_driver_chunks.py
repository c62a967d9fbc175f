"""A small fold that the driver collects has the statistics that Spark computes; a large fold comes in chunks."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import starmap
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import as_read
from tests.support.topic_writer import value_of
from tidemark.pipeline.event_time.tallies import Statistic, Tallies
from tidemark.pipeline.fold import driver_chunks
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.service.guesses import Guesses
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.pipeline.tables.large import NOTHING, LargeJobs
from tidemark.pipeline.tuning import STANDARD
from tidemark.producers.encode import header
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

pytestmark = pytest.mark.jvm
SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
STAMP = datetime(2026, 1, 1, tzinfo=UTC)
NOW = int(STAMP.timestamp() * 1000)
AGES_MS = (-5, 0, 1, 49, 50, 9_999, 10_000, 10_001, 16_384, 65_535, 65_536, 1_000_000, 86_400_000, 2**40)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


@pytest.fixture
def megabyte(spark: SparkSession) -> Iterator[None]:
    """Lets Spark send the driver a megabyte at most."""
    name = "spark.driver.maxResultSize"
    # Jobs read the context's own configuration, which PySpark does not expose.
    conf = spark.sparkContext._jsc.sc().conf()
    usual = conf.get(name, "512m")
    conf.set(name, "1m")
    yield
    conf.set(name, usual)


def event(number: int) -> bytes:
    return value_of("ä" * (number % 5) + "ann", NOW - 30_000 * (number % 7), page=f"/{number % 3}")


def plan(**reports: dict[str, Any]) -> FoldPlan:
    settings = Settings.model_validate({"reports": reports}) if reports else Settings()
    return FoldPlan(EventSchemas(load_schemas()), settings.policy(), 2)


def records(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    rows = [
        (b"k", value, "t", n % 2, n, STAMP - timedelta(milliseconds=AGES_MS[n % len(AGES_MS)]))
        for n, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, SCHEMA)


def test_statistics_equal_those_that_spark_computes(spark: SparkSession) -> None:
    fold = plan()
    values = [(event(n), b"", None, b"noise", event(n))[n % 5] for n in range(140)]
    packed = fold.packed(fold.keyed(as_read(records(spark, values), fold), BatchContext(NOW - 100_000, NOW)))
    expected = Counter(starmap(Statistic, fold.spark_statistics(fold.unpacked(packed)).collect()))
    collected = driver_chunks.collect(packed)
    assert collected is not None
    assert Counter(fold.driver_statistics(collected)) == expected
    assert len({statistic.age_ms for statistic in expected}) > 8
    assert len({statistic.check for statistic in expected}) > 3


def test_statistics_of_several_slices_add_up_to_the_same(spark: SparkSession) -> None:
    fold = plan()
    values = [(event(n), b"", None, b"noise", event(n))[n % 5] for n in range(140)]
    collected = driver_chunks.collect(
        fold.packed(fold.keyed(as_read(records(spark, values), fold), BatchContext(NOW - 100_000, NOW)))
    )
    assert collected is not None
    at_once = fold.driver_statistics(collected)
    fold.chunk_bytes = collected.nbytes // 4
    in_chunks = fold.driver_statistics(collected)
    assert len(in_chunks) > len(at_once)
    assert Tallies.of_rows(in_chunks) == Tallies.of_rows(at_once)


@pytest.mark.parametrize(
    "reports",
    [
        {},
        {"page_views": {"keys": ["user_id"]}},
        {"sliding": {"keys": ["user_id"], "window": {"size": "1m", "slide": "20s"}}},
        {"visits": {"window": {"gap": "30s"}}, "clicks": {"where": "event_type = 'click'", "keys": []}},
        {"tens": {"window": {"count": 10}}},
    ],
    ids=["out of the box", "one set of keys", "partly late", "flags", "by event"],
)
def test_packed_rows_are_the_same_whether_spark_unpacks_them_or_the_driver(
    spark: SparkSession, reports: dict[str, Any]
) -> None:
    fold = plan(**reports)
    values = [(event(n), b"", None, b"noise", event(n), header(1) + b"x")[n % 6] for n in range(140)]
    packed = fold.packed(fold.keyed(as_read(records(spark, values), fold), BatchContext(NOW - 100_000, NOW)))
    theirs, ours = fold.unpacked(packed).toArrow(), fold.unpacked_rows(packed.toArrow())
    assert {*ours.column_names} == {*theirs.column_names}
    ours = ours.select(theirs.column_names)
    assert ours.schema.types == theirs.schema.types
    assert Counter(map(str, ours.to_pylist())) == Counter(map(str, theirs.to_pylist()))
    assert {None, b"noise"} < {*ours["value"].to_pylist()}


def test_an_empty_fold_has_no_statistics(spark: SparkSession) -> None:
    fold = plan()
    collected = driver_chunks.collect(
        fold.packed(fold.keyed(as_read(spark.createDataFrame([], SCHEMA), fold), BatchContext(None, NOW)))
    )
    assert collected is not None
    assert fold.driver_statistics(collected) == []
    assert fold.unpacked_rows(collected).to_pylist() == []


@pytest.mark.usefixtures("megabyte")
def test_a_fold_larger_than_the_driver_may_receive_is_not_collected(spark: SparkSession) -> None:
    fold = plan()
    rows = fold.keyed(as_read(records(spark, [b"\xff" * 300_000 for _ in range(8)]), fold), BatchContext(None, NOW))
    assert driver_chunks.collect(fold.packed(rows)) is None


def test_collected_rows_are_written_in_slices(spark: SparkSession) -> None:
    fold = plan()
    rows = records(spark, [event(n) for n in range(50)])
    collected = driver_chunks.collect(fold.packed(fold.keyed(as_read(rows, fold), BatchContext(None, NOW))))
    assert collected is not None
    parts = [*driver_chunks.slices(collected, collected.nbytes // 3)]
    assert [row for part in parts for row in part.to_pylist()] == collected.to_pylist()
    assert len(parts) > 2


def test_a_batch_with_larger_records_than_the_last_is_guessed_wrong_once() -> None:
    guesses = Guesses(NOTHING, 128_000_000, STANDARD.large_batch_records)
    assert guesses.is_small(100_000, 3)
    assert not guesses.is_small(5_000_000, 1)
    guesses.committed(Tallies.of_rows([Statistic(0, 0, 1, None, 0, 10, None, 10_000_000)]))
    assert not guesses.is_small(100_000, 3)
    guesses.committed(Tallies())
    assert not guesses.is_small(100_000, 3)


def test_a_fold_for_executors_is_not_small() -> None:
    class NoExecutors:
        def write(self, *_: object) -> None: ...
        def write_rows(self, *_: object) -> None: ...

    assert not Guesses(LargeJobs(NoExecutors(), 300), 128_000_000, STANDARD.large_batch_records).is_small(100, 3)
    assert Guesses(LargeJobs(NoExecutors(), 300), 128_000_000, STANDARD.large_batch_records).is_small(99, 3)
