"""The operator returns the groups of a plain Spark query, whatever it is limited to."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.seeds import SEED
from tidemark.pipeline.fold.grouped_records import REJECTED_RECORD, STATISTICS, fold_records
from tidemark.pipeline.fold.grouping_sets import SKETCH_OF
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings
from tidemark.pipeline.sketches import estimate, merged

pytestmark = pytest.mark.jvm

CHECKS, FLAG_BITS, LAST_COUNTED = 21, 3, 1
TEXTS: Final = ("page", "source", "user")
KEYS: Final = (*TEXTS, "position")
SKETCHES: Final = [f"{SKETCH_OF}{name}" for name in TEXTS]
NUMBERS: Final = ("time", "click", "price")
LABELS: Final = ("label", "mark")
INPUTS: Final = (*NUMBERS, *LABELS)
AGGREGATES: Final[Sequence[Mapping[str, Any]]] = (
    {"name": "clicks", "join": "sum", "input": 1},
    {"name": "cheapest", "join": "min", "input": 2},
    {"name": "dearest", "join": "max", "input": 2},
    {"name": "last", "join": "max", "input": 0},
    {"name": "first_label", "join": "first", "input": 3},
    {"name": "last_label", "join": "last", "input": 3},
    {"name": "last_mark", "join": "last", "input": 4},
)
AFTER_TIME: Final = "CASE WHEN {text} IS NOT NULL THEN concat(lpad(CAST(time AS STRING), 19, '0'), ' ', {text}) END"
ORDERS: Final = {"first": "min", "last": "max"}
# Texts that share their length, their first or last bytes, and bytes that are not UTF-8.
POOL: Final = (
    *(b"", b"a", b"b", b"ab", b"\xff", b"\xff\xfe", b"\xc3", b"a\x00", b"\x00", b"\x00\x00", "ä".encode()),
    *(b"12345678", b"12345679", b"123456789", b"1234567890123456", b"1234567x90123456", b"12345678901234567"),
    *(b"12345678" + bytes([middle]) + b"12345678" for middle in (0, 1, 127, 128, 255)),
    *(b"x" * 5_000, b"x" * 4_999 + b"y", b"y" + b"x" * 4_999),
)
LIMITS: Final[Sequence[Mapping[str, int]]] = (
    {"joined": 3},
    {"block": 1, "joined": 1},
    {"block": 7, "bytes": 0},
    {"block": 2, "bytes": 60_000},
    {"hash_mask": 0},
    {"hash_mask": -(2**63), "block": 5},
)
ALL_RECORDS: Final = {
    "sketched": [],
    "flag_mask": 0,
    "readers": [{"wanted": 0, "barred": 0}],
    "aggregates": [],
    "pane_ms": 0,
    "shift_ms": 0,
}
"""An output that counts all records of the fold's panes."""
PANES: Final = {"radix": 512 * CHECKS << FLAG_BITS, "ms": 1_000, "shift_ms": 300}
Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


@pytest.mark.parametrize("case", range(6))
def test_groups_statistics_and_rejected_records_are_those_of_a_plain_query(spark: SparkSession, case: int) -> None:
    chance = Random(SEED + case)
    judged, spec = judged_records(spark, chance, 400), spec_of(*random_groups(chance))
    expected = rows_of(plain_query(judged, spec))
    for limits in (LIMITS[case], chance.choice(LIMITS)):
        assert rows_of(fold_records(judged, {**spec, "limits": limits})) == expected


def test_values_that_occur_once_and_long_texts_need_no_more_memory_than_there_is(spark: SparkSession) -> None:
    """A task has a million texts of 20 bytes, or 900 of a megabyte, about as much as Java's heap."""
    outputs = [
        {**ALL_RECORDS, "set": 0, "keys": [0, 2], "aggregates": [0, 3, 4]},
        {**ALL_RECORDS, "set": 1, "keys": [2]},
        {**ALL_RECORDS, "set": 1, "keys": [], "sketched": [2]},
    ]
    spec = spec_of([[0, 2], [2]], outputs)
    for count, padding in ((1_000_000, 20), (900, 1_000_000)):
        columns = {"page": f"'{'x' * 30}'", "source": "null", "user": f"concat(repeat('x', {padding}), id)"}
        rows = spark.range(0, count, 1, 1).select(
            F.lit(0).cast("long").alias("packed"),
            F.expr("cast(null AS struct<value: binary, age: bigint>) AS rejected"),
            *(F.lit(1).cast("long").alias(name) for name in ("moving", "age")),
            *(F.expr(sql).cast("string").alias(name) for name, sql in columns.items()),
            *(F.col("id").alias(name) for name in ("position", *NUMBERS)),
            *(F.expr("cast(id AS string)").alias(name) for name in LABELS),
        )
        groups = fold_records(rows, spec)
        if count == 1_000_000:  # Spark's own aggregation is in the same task, and needs memory, too
            groups = groups.groupBy("grouping", "user").agg(F.sum("records").alias("records"))
        found = groups.groupBy("grouping").agg(F.count("user").alias("users"), F.sum("records").alias("records"))
        assert {tuple(row) for row in found.collect()} == {
            *((0, count, count), (1, count, count), (2, 0, count), (STATISTICS, 0, count))
        }


def spec_of(sets: Iterable[Sequence[int]], outputs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "keys": len(KEYS),
        "aggregates": AGGREGATES,
        "sets": [{"keys": [*keys], "of_events": 3 in keys} for keys in sets],
        "outputs": [*outputs],
        "panes": PANES,
        "flag_bits": FLAG_BITS,
        "checks": CHECKS,
        "last_counted": LAST_COUNTED,
    }


def random_groups(chance: Random) -> tuple[list[list[int]], list[dict[str, Any]]]:
    """Returns sets of keys, of which one is empty, one has all keys, and one is of events; and outputs of each."""
    some = [sorted(chance.sample(range(len(TEXTS)), chance.randint(1, 2))) for _ in range(2)]
    sets = [[], [0, 1, 2], [2, 3], *some]
    outputs = list[dict[str, Any]]()
    for index, keys in enumerate(sets):
        outputs += [random_output(chance, index, keys) for _ in range(1 if 3 in keys else chance.randint(1, 3))]
    return sets, outputs


def random_output(chance: Random, index: int, keys: Sequence[int]) -> dict[str, Any]:
    is_whole = 3 in keys or chance.random() < 0.3
    own = keys if is_whole else sorted(chance.sample(keys, chance.randint(0, len(keys))))
    rest = [key for key in keys if key not in own]
    readers = [
        {"wanted": chance.choice([0, 0, 1, 4]), "barred": chance.choice([0, 0, 2])} for _ in range(chance.randint(1, 2))
    ]
    return {
        "set": index,
        "keys": [*own],
        "sketched": sorted(chance.sample(rest, chance.randint(0, len(rest)))),
        "readers": readers,
        "flag_mask": reduce(int.__or__, (reader["wanted"] | reader["barred"] for reader in readers)),
        "aggregates": sorted(chance.sample(range(len(AGGREGATES)), chance.randint(0, len(AGGREGATES)))),
        "pane_ms": 0 if is_whole else chance.choice([0, 1_000, 3_000, 60_000]),
        "shift_ms": chance.choice([300, 1_300, 2_300]),
    }


def judged_records(spark: SparkSession, chance: Random, count: int) -> DataFrame:
    """Returns records as the first half of a fold has them, in several tasks."""
    texts = {name: chance.sample(POOL, chance.randint(1, len(POOL))) for name in (*TEXTS, *LABELS)}
    columns: dict[str, pa.Array] = {
        "packed": pa.array([packed(chance) for _ in range(count)], pa.int64()),
        "value": pa.array([maybe(chance, 0.2, lambda: chance.randbytes(3)) for _ in range(count)], pa.binary()),
        "moving": pa.array([maybe(chance, 0.7, lambda: chance.randint(1, 10**9)) for _ in range(count)], pa.int64()),
        "age": pa.array([age(chance) for _ in range(count)], pa.int64()),
        "position": pa.array([*range(count)], pa.int64()),
    }
    for name, pool in texts.items():
        columns[name] = pa.array([chance.choice([None, *pool, *pool]) for _ in range(count)], pa.binary())
    for name in NUMBERS:
        columns[name] = pa.array(
            [maybe(chance, 0.8, lambda: chance.randint(-5, 10**12)) for _ in range(count)], pa.int64()
        )
    columns["time"] = pa.array([chance.choice([1, 2, 10**12, chance.randint(1, 10**13)]) for _ in range(count)])
    rejected = F.when(F.col("value").isNotNull(), F.struct("value", "age")).alias("rejected")
    keys, inputs = (
        [F.col(name).cast("string").alias(name) if name in texts else F.col(name) for name in names]
        for names in (KEYS, INPUTS)
    )
    rows = spark.createDataFrame(pa.table(columns))
    return rows.select("packed", rejected, "moving", "age", *keys, *inputs)


def packed(chance: Random) -> int:
    check, flags = chance.choice([0, 0, 0, 1, 2, 5, CHECKS - 1]), chance.randrange(2**FLAG_BITS)
    partition = chance.choice([0, 1, 2, 10**6]) * 512 + chance.randint(0, chance.choice([3, 511]))
    return (partition * CHECKS + check << FLAG_BITS) + flags


def age(chance: Random) -> int | None:
    return chance.choice([None, -(2**63), -1, 0, 1, 49, 50, 51, 9_999, 10_000, 10_240, 10**6, 2**40, 2**40 + 2**37])


def maybe(chance: Random, share: float, value: Any) -> Any:
    """Returns what `value` returns for a share of calls, else None."""
    return value() if chance.random() < share else None


def plain_query(judged: DataFrame, spec: Mapping[str, Any]) -> DataFrame:
    """Copies each record once per group that it belongs to, and has Spark group the copies."""
    is_counted = F.expr(f"(packed div {2**FLAG_BITS}) % {CHECKS} <= {LAST_COUNTED}")
    copies = [
        copy(STATISTICS, age_ms=rough_age()),
        F.when(F.col("rejected").isNotNull(), copy(REJECTED_RECORD, rejected=F.col("rejected"))),
    ]
    for index, output in enumerate(spec["outputs"]):
        keys = {KEYS[key]: F.col(KEYS[key]) for key in output["keys"]}
        readers = reduce(Column.__or__, map(is_of, output["readers"]))
        copies.append(F.when(is_counted & readers, copy(index, packed=packed_of(output), **keys)))
    rows = judged.select(F.explode(F.array(*copies)).alias("copy"), "moving", *TEXTS, *INPUTS).where("copy IS NOT NULL")
    sums = [F.count("*").alias("records")]
    for number, aggregate in enumerate(AGGREGATES):
        join, value_sql = aggregate["join"], INPUTS[aggregate["input"]]
        if join in ORDERS:
            join, value_sql = ORDERS[join], AFTER_TIME.format(text=value_sql)
        value = F.expr(f"{join}({value_sql})")
        value = F.coalesce(value, F.lit(0)) if aggregate["join"] == "sum" else value
        sums.append(F.when(is_of_output(spec, "aggregates", number), value).alias(aggregate["name"]))
    for key, name in enumerate(TEXTS):
        sketch = F.expr(f"hll_sketch_agg(CAST(nullif({name}, '') AS BINARY), 12)")
        sums.append(F.when(is_of_output(spec, "sketched", key), sketch).alias(f"{SKETCH_OF}{name}"))
    latest = F.when(F.col("copy.grouping") == STATISTICS, F.max("moving")).alias("max_event_time")
    return (
        rows.groupBy("copy")
        .agg(*sums, latest)
        .withColumns({name: F.col(f"copy.{name}") for name in ("grouping", "packed", "rejected", *KEYS, "age_ms")})
    )


def is_of_output(spec: Mapping[str, Any], kind: str, number: int) -> Column:
    """Condition: the row is of an output that has the aggregate or the sketch with this number."""
    return F.col("copy.grouping").isin([index for index, each in enumerate(spec["outputs"]) if number in each[kind]])


def packed_of(output: Mapping[str, Any]) -> Column:
    """Returns the packed number without flags that an output does not distinguish, and with the start of its pane."""
    seen = F.col("packed").bitwiseAND(~(2**FLAG_BITS - 1 & ~output["flag_mask"]))
    if not output["pane_ms"]:
        return seen
    radix, fold_ms, fold_shift_ms = PANES.values()
    start = F.floor(F.col("packed") / radix) * fold_ms - fold_shift_ms + output["shift_ms"]
    start -= F.pmod(start, F.lit(output["pane_ms"])) + output["shift_ms"]
    pane = ((start + fold_shift_ms) / fold_ms).cast("long")
    return F.when(start < -fold_shift_ms, seen).otherwise(F.pmod(seen, F.lit(radix)) + pane * radix)


def copy(grouping: int, **columns: Column) -> Column:
    """Returns what identifies a group; columns that it does not have are null."""
    kinds = {"packed": "bigint", "rejected": "struct<value: binary, age: bigint>", "age_ms": "bigint"}
    kinds |= {name: "string" if name in TEXTS else "bigint" for name in KEYS}
    columns = {"packed": F.col("packed"), **columns}
    values = [columns.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in kinds.items()]
    return F.struct(F.lit(grouping).alias("grouping"), *values)


def is_of(reader: Mapping[str, int]) -> Column:
    flags = F.col("packed")
    wanted, barred = reader["wanted"], reader["barred"]
    return (flags.bitwiseAND(wanted) == wanted) & (flags.bitwiseAND(barred) == 0)


def rough_age() -> Column:
    age = F.greatest(F.coalesce("age", F.lit(0)), F.lit(0))
    octave = F.floor(F.log2(F.greatest(age, F.lit(1)))) - 3
    step = F.when(age < 10_000, F.lit(50)).otherwise(F.pow(2, octave)).cast("long")
    return age - age % step


def rows_of(frame: DataFrame) -> dict[Row, Row]:
    """Returns records, aggregates and latest time by what identifies a group: a task may give it in several rows."""
    of_text = [aggregate["name"] for aggregate in AGGREGATES if aggregate["join"] in ORDERS]
    readable = {name: F.col(name).cast("binary") for name in (*TEXTS, *of_text)}
    groups = dict[Row, Row]()
    for row in frame.withColumns(readable).drop("copy").toArrow().to_pylist():
        struct = row["rejected"]
        key = (row["grouping"], row["packed"], struct and tuple(struct.values()), row["age_ms"], *map(row.get, KEYS))
        names = ["records", *(aggregate["name"] for aggregate in AGGREGATES), "max_event_time", *SKETCHES]
        values = tuple(row.get(name) for name in names)
        groups[key] = joined(groups[key], values) if key in groups else values
    return {key: estimated(values) for key, values in groups.items()}


def estimated(values: Row) -> Row:
    """Returns the values of a group, with the counts of its sketches, which are last."""
    first = len(values) - len(SKETCHES)
    return (*values[:first], *(sketch and estimate(sketch) for sketch in values[first:]))


def joined(values: Row, others: Row) -> Row:
    joins = (
        "sum",
        *(ORDERS.get(aggregate["join"], aggregate["join"]) for aggregate in AGGREGATES),
        "max",
        *["sketch"] * len(SKETCHES),
    )
    functions: dict[str, Any] = {"sum": sum, "min": min, "max": max, "sketch": merged}
    pairs = ([value for value in pair if value is not None] for pair in zip(values, others, strict=True))
    return tuple(functions[join](pair) if pair else None for join, pair in zip(joins, pairs, strict=True))
