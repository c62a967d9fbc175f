"""With deduplication a fold still reads each record once; without it a fold has no ids."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import starmap

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import as_read
from tests.support.topic_writer import value_of
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import window_states
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.event_ids import RememberedIds
from tidemark.pipeline.event_time.malformed import MalformedLimit, MalformedShare
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.tallies import Statistic
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.fold import driver_chunks
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.service.deduplication import Deduplication
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

pytestmark = pytest.mark.jvm
Row = tuple[bytes, bytes, str, int, int, datetime]
CONTEXT = BatchContext(None, 1_000_000)
SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
STAMP = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = replace(Settings().policy(), deduplicate=True)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


def events(
    spark: SparkSession, *ids: str, read: Callable[[int], object] = int, users: Mapping[int, str] | None = None
) -> DataFrame:
    """Returns a visit per id, all at one time on one partition, of `ann` if `users` has no other user of an offset.

    Calls `read` for each row that is computed.
    """

    def counted_row(row: Row) -> Row:
        read(1)
        return row

    rows = [
        (b"ann", value_of((users or {}).get(offset, "ann"), 1_000, event_id=event_id), "t", 0, offset, STAMP)
        for offset, event_id in enumerate(ids)
    ]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 2).map(counted_row), SCHEMA)


def counts_of(statistics: Iterable[Statistic]) -> dict[Check, int]:
    return {Check(row.check): row.records for row in statistics if not row.grouping}


def progress(policy: Policy) -> Progress:
    frontier = Frontier({0: PartitionState(0, 0)})
    return Progress("t", policy, 0, frontier, window_states.initial(policy), MalformedShare(MalformedLimit(1, 1)))


def test_records_are_read_once_and_later_events_with_an_id_are_duplicates(spark: SparkSession) -> None:
    read = spark.sparkContext.accumulator(0)
    records = events(spark, "a", "b", "a", "", "", "c", "b", read=read.add)
    plan = FoldPlan(EventSchemas(load_schemas()), POLICY, 1)
    keyed = plan.keyed(as_read(records, plan), CONTEXT)
    with Deduplication(RememberedIds()).mark(keyed, plan, progress(POLICY)) as (marked, ids):
        rows = plan.unpacked(plan.packed(marked)).persist()
        statistics = list(starmap(Statistic, plan.spark_statistics(rows).collect()))
    assert counts_of(statistics) == {Check.PASSED: 5, Check.DUPLICATE: 2}
    assert {row.max_event_time for row in statistics if not row.grouping} == {1_000}
    assert ids is not None
    assert len(ids) == 3
    assert read.value == 7
    rows.unpersist()


def test_the_id_of_a_rejected_event_is_not_remembered(spark: SparkSession) -> None:
    plan = FoldPlan(EventSchemas(load_schemas()), POLICY, 1)
    keyed = plan.keyed(as_read(events(spark, "a", "a", "a", users={0: ""}), plan), CONTEXT)
    with Deduplication(RememberedIds()).mark(keyed, plan, progress(POLICY)) as (marked, ids):
        statistics = list(starmap(Statistic, plan.spark_statistics(plan.unpacked(plan.packed(marked))).collect()))
    assert counts_of(statistics) == {Check.USER_ID: 1, Check.PASSED: 1, Check.DUPLICATE: 1}
    assert ids is not None
    assert len(ids) == 1


def test_without_deduplication_the_fold_has_no_further_column(spark: SparkSession) -> None:
    records = events(spark, "a", "a")
    plans = [FoldPlan(EventSchemas(load_schemas()), each, 1) for each in (replace(POLICY, deduplicate=False), POLICY)]
    off, on = (plan.keyed(as_read(records, plan), CONTEXT) for plan in plans)
    assert {*on.columns} - {*off.columns} == {c.RECORD_POSITION, c.ID_HIGH, c.ID_LOW}


def test_rejected_records_kept_apart_contain_no_duplicates_and_nothing_is_read_twice(
    spark: SparkSession,
) -> None:
    read = spark.sparkContext.accumulator(0)
    noise = spark.createDataFrame([(b"ann", b"noise", "t", 0, offset, STAMP) for offset in (10, 11)], SCHEMA)
    records = events(spark, "a", "b", "a", "", read=read.add).union(noise)
    plan = FoldPlan(EventSchemas(load_schemas()), POLICY, 1)
    keyed = plan.keyed(as_read(records, plan), CONTEXT, keeps_apart=True).persist()
    with Deduplication(RememberedIds()).mark(keyed, plan, progress(POLICY)) as (marked, _):
        counted, rejected = plan.split_rejected(marked)
        rows = plan.unpacked(plan.packed(counted)).persist()
        statistics = list(starmap(Statistic, plan.spark_statistics(rows).collect()))
    chunks = driver_chunks.rejected_chunks(rejected, plan.chunk_bytes)
    letters = [row for chunk in chunks for row in chunk.to_pylist()]
    keyed.unpersist()
    rows.unpersist()
    assert counts_of(statistics) == {Check.PASSED: 3, Check.DUPLICATE: 1, Check.MAGIC_BYTE: 2}
    assert {(row["check"], row["offset"], row["value"]) for row in letters} == {
        (Check.MAGIC_BYTE, 10, b"noise"),
        (Check.MAGIC_BYTE, 11, b"noise"),
    }
    assert read.value == 4
