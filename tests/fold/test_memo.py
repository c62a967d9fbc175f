"""Values that depend on one text are computed once for equal texts, and are those that Spark computes for each."""

from random import Random
from typing import Final

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.seeds import SEED
from tidemark.pipeline.runtime.pyspark_internals import null_if_it_fails, remembered
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings

pytestmark = pytest.mark.jvm

OF_ONE_TEXT: Final = (
    "parse_url(text, 'HOST')",
    "parse_url(text, 'QUERY', 'q')",
    "coalesce(lower(text), 'none')",
    "CASE WHEN text LIKE '%a%' THEN upper(text) WHEN text IS NULL THEN 'none' END",
    "repeat(text, 20)",
    "regexp_extract(text, '([a-z]+)[.]([a-z]+)', 2)",
    "array_join(transform(split(text, '/'), x -> reverse(x)), '-')",
    "CAST(length(text) AS string)",
    "CAST(raise_error(text) AS string)",
)
OTHERS: Final = ("text", "concat(text, other)", "CAST(number AS string)", "concat(text, number)", "'same'", "uuid()")


def rows_of(chance: Random) -> DataFrame:
    """More texts than a task remembers, most of them often, also null, empty and long ones."""
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    hosts = [
        f"https://{chance.choice('abc')}{index % 700}.example/{'x' * (index % 90)}?q={index}" for index in range(6_000)
    ]
    texts = [*hosts, "", "no address", "http://[", "ä/😀", "long" * 300, None]
    chosen = chance.choices(texts, [1 / (place + 1) for place in range(len(texts))], k=8_000) + texts + texts[-6:]
    numbers = range(len(chosen))
    return spark.createDataFrame(
        pa.table({"text": chosen, "other": [str(number % 7) for number in numbers], "number": [*numbers]})
    ).repartition(2)


def is_remembered(column: Column) -> bool:
    return "Memo" in str(column)


def test_values_of_one_text_are_remembered_and_the_same() -> None:
    rows = rows_of(Random(SEED))
    spark = rows.sparkSession
    for sql in OF_ONE_TEXT:
        once = remembered(F.expr(sql), rows)
        assert is_remembered(once), sql
        own, plain = (null_if_it_fails(column, spark) for column in (once, F.expr(sql)))
        different = rows.select("text", own.alias("own"), plain.alias("plain")).where("NOT own <=> plain")
        assert different.limit(3).collect() == [], sql


def test_values_of_other_fields_are_computed_as_before() -> None:
    rows = rows_of(Random(SEED))
    assert [sql for sql in OTHERS if is_remembered(remembered(F.expr(sql), rows))] == []


def test_a_value_that_fails_is_null_and_stops_no_other() -> None:
    rows = rows_of(Random(SEED))
    failing = remembered(F.expr("CASE WHEN text = '' THEN raise_error(text) ELSE text || '!' END"), rows)
    failing = null_if_it_fails(failing, rows.sparkSession)
    found = rows.select("text", failing.alias("value")).where("text IS NOT NULL").distinct().collect()
    assert {row.text: row.value for row in found} == {row.text: row.text + "!" if row.text else None for row in found}
    assert len(found) > 4
