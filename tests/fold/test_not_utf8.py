"""Texts that are not UTF-8 are no texts of an event, also when a dead letter is read again."""

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import NOW, record, verdicts, written
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.runtime.pyspark_internals import is_utf8
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings

pytestmark = pytest.mark.jvm


def test_a_user_that_is_not_utf8_stays_malformed() -> None:
    value = written(7, record(), {"u": "xyz", "t": NOW}).replace(b"xyz", b"x\xffz")
    assert [check for check, _ in verdicts({7: record()}, [value])] == [Check.TEXT]


@pytest.mark.parametrize("function", ["first", "last"])
def test_an_event_whose_measured_text_is_not_utf8_is_malformed(function: str) -> None:
    schema = record({"name": "source", "type": "string"})
    values = [written(7, schema, {"source": "xyz"}).replace(b"xyz", middle) for middle in (b"xyz", b"x\xffz")]
    found = verdicts({7: schema}, values, measures={"chosen": {function: "source"}})
    assert [check for check, _ in found] == [Check.PASSED, Check.TEXT]


def test_texts_are_utf8_where_spark_says_so() -> None:
    """Of each length up to three words, with bytes that are not ASCII at each place."""
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    odd = ("ä".encode(), "😀".encode(), b"\xff", b"\xc3", b"\x80", b"\x00")
    texts = [b"a" * length for length in range(25)]
    texts += [b"a" * before + some + b"a" * after for some in odd for before in range(18) for after in (0, 1, 7, 8, 9)]
    rows = spark.createDataFrame(pa.table({"text": pa.array([*texts, None], pa.binary())}))
    text = rows.select(F.col("text").cast("string").alias("text"))
    found = text.select(is_utf8("text", spark), F.is_valid_utf8("text")).collect()
    assert [ours for ours, _ in found] == [spark_says for _, spark_says in found]
    assert {ours for ours, _ in found} == {True, False, None}
