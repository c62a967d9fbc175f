"""The fold rejects records of erased users before all other checks, and stores nothing of them."""

from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import as_read
from tests.support.policies import policy_of
from tests.support.topic_writer import Raw, event, value_of
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.fold.erased_records import ErasedRecords
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.grouped_records import REJECTED_RECORD
from tidemark.pipeline.fold.outputs import dead_letters
from tidemark.pipeline.fold.pseudonym_columns import pseudonymizer
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.pseudonyms import ErasedUsers, Pseudonyms
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings
from tidemark.producers.encode import encode_one
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

pytestmark = pytest.mark.jvm
SCHEMAS = EventSchemas(load_schemas())
SIZE = 10_000
POLICY = replace(policy_of(Report("views", Grid(SIZE, SIZE), 0, ("user_id",))), deduplicate=True)
CONTEXT = BatchContext(5 * SIZE, 0)
PSEUDONYMS = Pseudonyms(b"k" * 32)
ANN, BOB, SALT = "ann-of-clear-text", "bob-who-left", b"s" * 32
RECORDS_OF_BOB = [
    event(BOB, 51_000),
    event(BOB, 51_000),
    event(BOB, 1_000),
    event(BOB, 99_000, timestamp_ms=51_000),
    Raw(value_of(BOB, 0), b"another key", timestamp_ms=51_000),
    Raw(value_of(BOB, 51_000)[:-4], BOB.encode(), timestamp_ms=51_000),
    Raw(b"\0\0\0\0\x63" + BOB.encode(), BOB.encode(), timestamp_ms=51_000),
    Raw(b"", BOB.encode(), timestamp_ms=51_000),
]
"""In time, repeated, too late, from the future, without a time, cut off, with an unknown schema, empty."""
OTHERS = [event(ANN, 52_000), event(ANN, 1_000), Raw(b"{}", ANN.encode(), timestamp_ms=51_000), Raw(b"{}", None, 0, 1)]
_KAFKA = pa.schema(
    [
        *(pa.field(name, pa.binary()) for name in ("key", "value")),
        *(pa.field(name, kind) for name, kind in (("topic", pa.string()), ("partition", pa.int32()))),
        *(pa.field(name, kind) for name, kind in (("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC")))),
    ]
)


@pytest.fixture(scope="module")
def session() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER), "console")


def read(session: SparkSession, records: list[Raw]) -> DataFrame:
    """Returns the records as rows of Kafka, at offsets from 0."""
    rows = [
        {"key": record.key, "value": record.value, "topic": "t", "partition": 0, "offset": offset}
        | {"timestamp": record.timestamp_ms * 1000}
        for offset, record in enumerate(records)
    ]
    return session.createDataFrame(pa.Table.from_pylist(rows, schema=_KAFKA))


def fold_of(session: SparkSession, *users: str, hides: bool = False) -> FoldPlan:
    to_pseudonym = pseudonymizer(session, PSEUDONYMS) if hides else None
    ids = [PSEUDONYMS.of(user) if hides else user for user in users]
    erased = ErasedUsers(SALT, frozenset(map(Pseudonyms(SALT).of, ids)))
    return FoldPlan(SCHEMAS, POLICY, 1, to_pseudonym, ErasedRecords(session, erased) if users else None)


@pytest.mark.parametrize("hides", [False, True])
def test_a_record_of_an_erased_user_is_rejected_as_erased_whatever_else_is_wrong(
    session: SparkSession, hides: bool
) -> None:
    fold = fold_of(session, BOB, "somebody-else", hides=hides)
    keyed = fold.keyed(as_read(read(session, RECORDS_OF_BOB + OTHERS), fold), CONTEXT)
    assert keyed.where("id_high IS NOT NULL").count() == 1, "no id of an erased user is remembered"
    folded = fold.unpacked(fold.packed(keyed)).toArrow()
    erased = [row for row in folded.to_pylist() if row["check"] == Check.ERASED]
    assert {row["offset"] for row in erased if row["grouping"] == REJECTED_RECORD} == {*range(len(RECORDS_OF_BOB))}
    assert {row["max_event_time"] for row in erased} == {None}, "they do not move the watermark"
    letters = dead_letters(folded, "t", 1, CONTEXT.watermark, {}).to_pylist()
    person = {
        (row["user_id"], row["key"], row["value"], row["event_time"]) for row in letters[:] if row["reason"] == "erased"
    }
    assert person == {(None, None, None, None)}
    others = sorted((row["reason"], row["offset"]) for row in letters if row["reason"] != "erased")
    assert others == [("malformed", 10), ("malformed", 11), ("too_late", 9)]
    counted = [row["user_id"] for row in folded.to_pylist() if row["grouping"] == 0]
    assert counted == [PSEUDONYMS.of(ANN) if hides else ANN]


@pytest.mark.parametrize("hides", [False, True])
def test_a_record_with_an_erased_user_in_a_personal_dimension_is_rejected_as_erased(
    session: SparkSession, hides: bool
) -> None:
    report = Report(
        "by", Grid(SIZE, SIZE), 0, ("shown",), dimensions=(Dimension("shown", "element_id", personal=True),)
    )
    to_pseudonym = pseudonymizer(session, PSEUDONYMS) if hides else None
    stored = PSEUDONYMS.of(BOB) if hides else BOB
    erased = ErasedRecords(session, ErasedUsers(SALT, frozenset([Pseudonyms(SALT).of(stored)])))
    fold = FoldPlan(SCHEMAS, policy_of(report), 1, to_pseudonym, erased)
    shown = [None, ANN, BOB]
    fields = {"event_id": "e", "event_type": "click", "event_time": 51_000, "page_url": "/", "user_id": ANN}
    records = [Raw(encode_one({**fields, "element_id": name}), b"", timestamp_ms=51_000) for name in shown]
    records.append(Raw(encode_one({**fields, "user_id": BOB}), b"", timestamp_ms=51_000))
    folded = fold.unpacked(fold.packed(fold.keyed(as_read(read(session, records), fold), CONTEXT))).toArrow()
    letters = dead_letters(folded, "t", 1, CONTEXT.watermark, {}).to_pylist()
    assert [(row["offset"], row["reason"], row["value"]) for row in letters] == [
        (2, "erased", None),
        (3, "erased", None),
    ]
    counted = {row["dimension shown"] for row in folded.to_pylist() if row["grouping"] == 0}
    assert counted == {None, PSEUDONYMS.of(ANN) if hides else ANN}


def test_without_erased_users_no_plan_has_a_join_and_with_them_no_batch_compiles_code(session: SparkSession) -> None:
    records = read(session, RECORDS_OF_BOB + OTHERS)
    assert "Join" not in plan_of(fold_of(session).keyed(as_read(records, fold_of(session)), CONTEXT))
    fold = fold_of(session, BOB)
    assert "BroadcastHashJoin" in plan_of(fold.keyed(as_read(records, fold), CONTEXT))
    fold.fold(as_read(records, fold), CONTEXT).collect()
    before = compilations(session)
    fold.fold(as_read(records, fold), BatchContext(7 * SIZE, 1)).collect()
    assert compilations(session) == before
    fold = fold_of(session, BOB, ANN)
    fold.fold(as_read(records, fold), CONTEXT).collect()
    assert compilations(session) == before, "nor does one more user"


def plan_of(rows: DataFrame) -> str:
    plan: str = rows._jdf.queryExecution().executedPlan().toString()
    return plan


def compilations(session: SparkSession) -> int:
    """Returns the number of classes that Spark has generated and compiled."""
    assert session._jvm is not None
    metrics = session._jvm.org.apache.spark.metrics.source.CodegenMetrics
    count: int = metrics.METRIC_COMPILATION_TIME().getCount()
    return count
