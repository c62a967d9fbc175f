"""By arrival the operator gives the records that may be late, and the rises of times, as a slow recount does."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.event_time.arrival_rule import Lane, Record, Row
from tests.event_time.test_arrival import random_policy
from tests.fold.test_grouped_records import (
    AGGREGATES,
    CHECKS,
    FLAG_BITS,
    INPUTS,
    KEYS,
    LABELS,
    LIMITS,
    NUMBERS,
    ORDERS,
    TEXTS,
    age,
    random_groups,
    rows_of,
    spec_of,
)  # fmt: skip
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.seeds import SEED
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.arrival import NO_TIME, STEP_MS, ArrivalSpan, ArrivalState, Arrived
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.fold.arrival_spec import RISE, arrival_spec, rises_of, unsettled_of
from tidemark.pipeline.fold.grouped_records import REJECTED_RECORD, fold_records
from tidemark.pipeline.fold.grouping_sets import SKETCH_OF
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings
from tidemark.pipeline.sketches import estimate

pytestmark = pytest.mark.jvm

PARTITIONS: Final = 4
_TIMED: Final = (Check.PASSED, Check.PARTLY_LATE, Check.TOO_LATE)
_OF_EVENTS: Final = (Check.FUTURE, Check.DUPLICATE, Check.ERASED)
_OTHERS: Final = (Check.AVRO, Check.OTHER_KIND)
Judged = Mapping[str, Any]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


@pytest.mark.parametrize("case", range(4))
def test_doubtful_records_and_rises_are_those_of_a_slow_recount(spark: SparkSession, case: int) -> None:
    chance = Random(SEED + case)
    policy, state = random_policy(chance), random_state(chance)
    records, spec = random_records(chance, 300), spec_of(*random_groups(chance))
    last = chance.choice([160, rules.NEVER])  # some records arrived later, by a clock that is ahead
    doubtful, certain, rises, steps, unsettled = recounted(records, state, policy, last)
    assert case != 0 or (doubtful and certain)
    plain = fold_records(frame_of(spark, [{**each, "value": None} for each in certain if is_timed(each)] + [
        each for each in certain if not is_timed(each)
    ]).drop("partition", "kafka_timestamp", "happened"), spec)  # fmt: skip
    for limits in ({}, LIMITS[case]):
        found = fold_records(
            in_tasks(spark, records),
            {**spec, "limits": limits, "arrival": arrival_spec(ArrivalSpan(state, last + 1), policy)},
        )
        rows = found.toArrow()
        assert sorted(zip(*(column.tolist() for column in rises_of(rows)), strict=True)) == sorted(rises)
        assert unsettled_of(rows) == unsettled
        is_plain = F.col("time").isNull() & (F.col("grouping") != RISE)
        assert rows_of(found.where(is_plain).drop("step", "time")) == rows_of(plain)
        assert_doubtful(rows, doubtful, spec)
        rejected = rows.filter(pc.and_(pc.equal(rows["grouping"], REJECTED_RECORD), pc.invert(rows["time"].is_valid())))
        assert Counter(zip(rejected["packed"].to_pylist(), rejected["step"].to_pylist(), strict=True)) == steps


def assert_doubtful(rows: pa.Table, doubtful: Sequence[tuple[Judged, int]], spec: Mapping[str, Any]) -> None:
    """Compares the rows of records that may be late: one with fields for each, and one for each output."""
    given = rows.filter(pc.and_(rows["time"].is_valid(), pc.not_equal(rows["grouping"], RISE)))
    fields = [row for row in given.to_pylist() if row["grouping"] == REJECTED_RECORD]
    expected = [(each["packed"], step, each["happened"], each["value"]) for each, step in doubtful]
    assert sorted((row["packed"], row["step"], row["time"], row["rejected"]["value"]) for row in fields) == sorted(
        expected
    )
    for index, output in enumerate(spec["outputs"]):
        names, sketched = ([KEYS[key] for key in output[kind]] for kind in ("keys", "sketched"))
        sums = [AGGREGATES[aggregate] for aggregate in output["aggregates"]]
        of_output = [row for row in given.to_pylist() if row["grouping"] == index]
        found = [(row["packed"], row["step"], row["time"], row["records"], *(row[name] for name in names),
                  *(estimate(row[f"{SKETCH_OF}{name}"]) for name in sketched), *(row[each["name"]] for each in sums))
                 for row in of_output]  # fmt: skip
        counted = [(each, step) for each, step in doubtful if check_of(each) <= Check.PARTLY_LATE]
        wanted = [(each["packed"], step, each["happened"], 1, *(each[name] for name in names),
                   *(int(bool(each[name])) for name in sketched),
                   *(value_of(each, aggregate) for aggregate in sums)) for each, step in counted]  # fmt: skip
        assert sorted(found, key=repr) == sorted(wanted, key=repr)


def value_of(record: Judged, aggregate: Mapping[str, Any]) -> Any:
    value = record[INPUTS[aggregate["input"]]]
    if aggregate["join"] in ORDERS:
        return None if value is None else f"{record['time']:019d} {value}"
    return 0 if value is None and aggregate["join"] == "sum" else value


def recounted(
    records: Sequence[Judged], state: ArrivalState, policy: Policy, last: int
) -> tuple[list[tuple[Judged, int]], list[Judged], list[Row], Counter[tuple[int, int]], Mapping[int, int]]:
    """Returns the records that may be late, with their steps, the others, the rises, and the steps of rejected ones.

    The last value is the number of events by partition that are not at the step of their arrival.
    """
    lanes = {number: Lane(number, state, policy, last) for number in state.partitions}
    doubtful, certain, steps = list[tuple[Judged, int]](), list[Judged](), Counter[tuple[int, int]]()
    for each in records:
        moves = each["moving"] is not None
        time = each["moving"] if moves else each["happened"]
        lane, is_event = lanes[each["partition"]], check_of(each) in {*_TIMED, *_OF_EVENTS}
        lane.arrive(Record(each["kafka_timestamp"], time, is_event, moves))
        is_late = check_of(each) in {Check.PARTLY_LATE, Check.TOO_LATE}
        if is_timed(each) and (is_late or each["happened"] < lane.limit):
            doubtful.append((each, lane.step))
        else:
            certain.append(each)
            steps[each["packed"], lane.step] += not is_timed(each)
    rises = [row for lane in lanes.values() for row in lane.end()]
    unsettled = {number: lane.unsettled for number, lane in lanes.items() if lane.unsettled}
    return doubtful, certain, rises, +steps, unsettled


def check_of(record: Judged) -> Check:
    return Check((record["packed"] >> FLAG_BITS) % CHECKS)


def is_timed(record: Judged) -> bool:
    return check_of(record) in _TIMED


def random_state(chance: Random) -> ArrivalState:
    """Returns what earlier batches may have left; the first batch of a warehouse has nothing."""
    if chance.random() < 0.3:
        return ArrivalState(dict.fromkeys(range(PARTITIONS), Arrived()))
    partitions = {
        number: Arrived(chance.choice([NO_TIME, 25_000, 31_000]), chance.choice([None, 100, 148]))
        for number in range(PARTITIONS)
    }
    return ArrivalState(partitions, 150, chance.choice([None, 24_000]), chance.choice([None, 90]))


def random_records(chance: Random, count: int) -> list[dict[str, Any]]:
    at, records = 30_000, list[dict[str, Any]]()
    texts = {name: chance.sample(["a", "b", "ab", "ä", None], 3) for name in (*TEXTS, *LABELS)}
    for position in range(count):
        at += chance.choice([0, 0, 3, 50, 250, 1_300, *([7_000] if position % 50 == 0 else [])])
        stamp = max(0, at - chance.choice([0, 0, 40, 800]))
        happened = max(1, stamp - chance.choice([0, 5, 900, 4_000, 20_000]) + chance.choice([0, 0, 300]))
        check = chance.choice([*[Check.PASSED] * 6, *_TIMED, *_OF_EVENTS, *_OTHERS])
        partition, pane = chance.randrange(PARTITIONS), happened // 1_000
        packed = ((pane * PARTITIONS + partition) * CHECKS + check << FLAG_BITS) + chance.randrange(2**FLAG_BITS)
        moves = check in (*_TIMED, Check.DUPLICATE) and chance.random() < 0.9
        records.append({
            "packed": packed, "value": chance.randbytes(3), "moving": happened if moves else None, "age": age(chance),
            **{name: chance.choice(some) for name, some in texts.items()}, "position": position,
            **{name: chance.choice([None, chance.randint(-5, 10**12)]) for name in NUMBERS}, "time": happened,
            "partition": partition, "kafka_timestamp": stamp, "happened": happened,
        })  # fmt: skip
    return records


def frame_of(spark: SparkSession, records: Sequence[Judged]) -> DataFrame:
    """Returns judged records in one task, in their order."""
    types = {"value": pa.binary(), **dict.fromkeys((*TEXTS, *LABELS), pa.string()), "partition": pa.int32()}
    names = ["packed", "value", "moving", "age", *KEYS, *INPUTS, "partition", "kafka_timestamp", "happened"]
    schema = pa.schema([(name, types.get(name, pa.int64())) for name in names])
    rows = spark.createDataFrame(pa.Table.from_pylist([*records], schema)).coalesce(1)
    rejected = F.when(F.col("value").isNotNull(), F.struct("value", "age")).alias("rejected")
    arrival = [F.coalesce(name, F.lit(0)).alias(name) for name in ("partition", "kafka_timestamp")]
    return rows.select("packed", rejected, "moving", "age", *KEYS, *INPUTS, *arrival, "happened")


def in_tasks(spark: SparkSession, records: Sequence[Judged]) -> DataFrame:
    """Returns judged records in two tasks; a task has all records of its partitions."""
    halves = [[each for each in records if each["partition"] % 2 == half] for half in (0, 1)]
    first, second = (frame_of(spark, half) for half in halves)
    return first.union(second)


def test_a_step_has_the_length_that_the_rule_has() -> None:
    policy = random_policy(Random(1))
    assert arrival_spec(ArrivalSpan(ArrivalState({}), 1), policy)["step_ms"] == STEP_MS
    assert not len(np.array(arrival_spec(ArrivalSpan(ArrivalState({}), 1), policy)["partitions"]))
