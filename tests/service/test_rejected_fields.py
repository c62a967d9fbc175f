"""Rejected records that are kept apart are those of the fold, chunk by chunk, and the counts are the same."""

from collections import Counter
from datetime import UTC, datetime
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fuzz.oracle import Oracle
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import as_read
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.fold import driver_chunks
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.outputs import dead_letters, panes
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.producers.encode import encode_one, header
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

pytestmark = pytest.mark.jvm
SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
STAMP = datetime(2026, 1, 1, tzinfo=UTC)
NOW = int(STAMP.timestamp() * 1000)
CONTEXT = BatchContext(NOW - 60_000, NOW)
PARTITIONS = 3
CHUNK_BYTES = 250
POLICY = Settings().policy()


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


def event(event_id: str = "e", time: int = NOW) -> bytes:
    return encode_one(
        {"event_id": event_id, "event_type": "visit", "user_id": "ann", "event_time": time, "page_url": "/"}
    )


def read(spark: SparkSession, values: list[bytes]) -> DataFrame:
    """The values as rows of Kafka, spread over partitions, in several tasks."""
    rows = [(b"k", value, "t", n % PARTITIONS, n // PARTITIONS, STAMP) for n, value in enumerate(values)]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, PARTITIONS), SCHEMA)


def plan(policy: Policy = POLICY) -> FoldPlan:
    return FoldPlan(EventSchemas(load_schemas()), policy, PARTITIONS)


def rows_of(table: pa.Table) -> Counter[tuple[object, ...]]:
    names = sorted(table.column_names)
    return Counter(tuple(row[name] for name in names) for row in table.to_pylist())


def test_dead_letters_and_panes_equal_those_of_one_group_per_rejected_record(spark: SparkSession) -> None:
    values = [(event(time=NOW - n * 60_000), b"", b"noise %d" % n, header(1) + bytes(n))[n % 4] for n in range(200)]
    fold, records, watermark = plan(), read(spark, values), CONTEXT.watermark
    together = fold.fold(as_read(records, fold), CONTEXT).toArrow()
    keyed = fold.keyed(as_read(records, fold), CONTEXT, keeps_apart=True).persist()
    counted, rejected = fold.split_rejected(keyed)
    rows, chunks = (
        fold.unpacked(fold.packed(counted)).toArrow(),
        list(driver_chunks.rejected_chunks(rejected, CHUNK_BYTES)),
    )
    keyed.unpersist()
    assert len(chunks) > 5
    letters = pa.concat_tables([dead_letters(chunk, "t", 1, watermark, {}) for chunk in chunks])
    assert rows_of(letters) == rows_of(dead_letters(together, "t", 1, watermark, {}))
    assert len({(row["partition"], row["offset"]) for row in letters.to_pylist()}) == len(letters) > 150
    assert len(rows) < len(together) / 2
    ours, theirs = (panes(folded, POLICY.consumers, fold.groupings, 1, watermark) for folded in (rows, together))
    assert sum(ours[c.PAGE_VIEWS].to_pylist()) == sum(theirs[c.PAGE_VIEWS].to_pylist()) > 0
    sample = fold.sample(as_read(records, fold), CONTEXT)
    assert sample.rejected == len(letters) / len(values)
    rows_of_sample = 2 * len([None, "", "a text"]) + 1  # users and pages have a row for each of these, the traffic one
    assert 72 < sample.row_bytes * len(values) / rows_of_sample < 72 + len("ann")


def test_an_empty_batch_has_no_chunks_and_no_share(spark: SparkSession) -> None:
    fold, records = plan(), spark.createDataFrame([], SCHEMA)
    assert (
        list(
            driver_chunks.rejected_chunks(
                fold.split_rejected(fold.keyed(as_read(records, fold), CONTEXT, keeps_apart=True))[1], CHUNK_BYTES
            )
        )
        == []
    )
    assert fold.sample(as_read(records, fold), CONTEXT) == (0.0, 0.0)


def test_without_keys_a_row_has_no_texts(spark: SparkSession) -> None:
    site = Settings.model_validate({"reports": {"site": {"keys": []}}}).policy()
    fold = plan(site)
    assert fold.sample(as_read(read(spark, [event()]), fold), CONTEXT) == (0.0, 40 + 3 * 8)


def test_jobs_read_a_part_of_every_partition_and_together_everything() -> None:
    step = 2**48 // 16
    blocks = np.concatenate([np.arange(100), step + np.arange(0, 300, 3), 5 * step + np.arange(2)]).astype(np.int64)
    sizes = np.full(len(blocks), 100, np.int64)
    jobs = list(driver_chunks.block_ranges(blocks, sizes, CHUNK_BYTES))
    ranges = [block_range for job in jobs for block_range in job]
    assert sorted(block for block in blocks for start, end in ranges if start <= block < end) == blocks.tolist()
    most = max(sum(start <= block < end for block in blocks for start, end in job) for job in jobs)
    assert most * 100 <= 1_000 + 3 * 100
    assert len(jobs[0]) == 3


def test_the_edges_of_lengths_and_symbols_are_judged_by_the_letter_of_the_specification(spark: SparkSession) -> None:
    whole, length = event("x" * 10), b"\x14"
    assert whole[5:6] == length
    values = [event("x" * number) for number in (0, 1, 63, 64, 65, 100, 8_191, 8_192, 20_000)]
    values += [whole[:5] + wide + whole[6:] for wide in (b"\x94\x00", b"\x94\x80\x00", b"\x94\x80\x80\x00")]
    edges = (0x00, 0x01, 0x14, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
    starts = [bytes(start) for number in (1, 2, 3) for start in product(edges, repeat=number)]
    values += [header(1) + start + rest for start in starts for rest in (b"", whole[6:], bytes(200), bytes(9_000))]
    symbols = [bytes(start) for number in (1, 2) for start in product((*edges, 0x02, 0x03, 0x04), repeat=number)]
    values += [whole[:16] + symbol + rest for symbol in symbols for rest in (b"", whole[17:], bytes(9))]
    values += [header(1) + b"\x7e" + b"x" * 63 + symbol + whole[17:] for symbol in symbols]
    fold, oracle = plan(), Oracle(load_schemas(), POLICY)
    _, rejected = fold.split_rejected(
        fold.keyed(as_read(read(spark, values), fold), BatchContext(None, NOW), keeps_apart=True)
    )
    checks = {row.offset * PARTITIONS + row.partition: Check(row.check) for row in rejected.collect()}
    expected = {number: oracle(value, NOW, None).check for number, value in enumerate(values)}
    assert {**dict.fromkeys(expected, Check.PASSED), **checks} == expected
    assert Counter(expected.values())[Check.PASSED] >= 12
