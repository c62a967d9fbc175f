"""All outputs of a fold equal those of Spark's own grouping sets, for random reports and records."""

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.fold.grouping_sets_oracle import folded_by_spark
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import NOW
from tests.support.seeds import SEED
from tests.support.topic_writer import value_of
from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.decode import decoded
from tidemark.pipeline.event_time.tallies import Statistic, Tallies
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.outputs import dead_letters, panes
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.measures import MEASURES, PARTS, Join
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.pipeline.sketches import estimate, merged
from tidemark.producers.encode import header
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventFields, EventSchemas

pytestmark = pytest.mark.jvm

PARTITIONS: Final = 5
RECORDS: Final = pa.schema({"key": pa.binary(), "value": pa.binary(), "partition": pa.int32(), "offset": pa.int64(),
                            "kafka_timestamp": pa.int64()})  # fmt: skip
WINDOWS: Final[tuple[Mapping[str, str | int], ...]] = (
    {"size": "2m"},
    {"size": "2m", "slide": "30s"},
    {"size": "3m", "step": "1m"},
    {"gap": "20s"},
    {"count": 3},
)
WHERE: Final = ("", "event_type = 'click'", "page_url LIKE '/a%'", "user_id <> 'ann'")
COUNTED_BY: Final = [c.GROUPING, c.PARTITION, c.CHECK, c.PANE_START, c.RECORDS, c.MAX_EVENT_TIME]
JOINS: Final = {part.name: part.join for part in PARTS} | {c.LATE_EVENTS: Join.SUM}
Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


@pytest.mark.parametrize("case", range(4))
def test_panes_dead_letters_and_tallies_are_those_of_grouping_sets(spark: SparkSession, case: int) -> None:
    chance = Random(SEED + case)
    totals = {"totals": {"gap": "1m"}} if case % 2 else {}
    reports = {f"report_{number}": random_report(chance) for number in range(chance.randint(1, 4))}
    policy = Settings.model_validate({"reports": reports, **totals}).policy()
    # In some cases visits are of another kind, which is no page view.
    fields = EventFields(kinds={"visit": "purchase", "click": "click"}) if case >= 2 else EventFields()
    plan = FoldPlan(EventSchemas(load_schemas(), fields), policy, PARTITIONS)
    rows = spark.createDataFrame(random_records(chance, 300))
    watermark = NOW - chance.choice([0, 60_000, 240_000])
    keyed = plan.keyed(decoded(rows, plan.decoding_plan), BatchContext(watermark, NOW)).persist()
    expected, packed = folded_by_spark(plan, keyed), plan.packed(keyed).toArrow()
    keyed.unpersist()
    folded = plan.unpacked_rows(packed)
    ours, theirs = (panes(each, policy.consumers, plan.groupings, 7, watermark) for each in (folded, expected))
    assert added_up(ours) == added_up(theirs)
    ours, theirs = (dead_letters(each, "t", 7, watermark, {}) for each in (folded, expected))
    assert Counter(map(str, ours.to_pylist())) == Counter(map(str, theirs.to_pylist()))
    assert len(ours) > 10
    found = Tallies.of_rows(plan.driver_statistics(packed))
    tallies = Tallies.of_rows(map(statistic, expected.select(COUNTED_BY).to_pylist()))
    assert (found.partitions, found.panes, found.malformed) == (tallies.partitions, tallies.panes, tallies.malformed)


@pytest.mark.parametrize("users", [10, 3_000])
@pytest.mark.parametrize("settings", [{}, {"site": {"zone": "UTC"}}], ids=["default", "site"])
def test_a_sample_says_how_large_a_fold_is(spark: SparkSession, settings: dict[str, Any], users: int) -> None:
    """A fold that is taken for small and is not is computed again."""
    plan = FoldPlan(EventSchemas(load_schemas(), EventFields()), Settings.model_validate(settings).policy(), 1)
    values = [
        value_of(f"user-{number % users}", NOW + number, "visit", f"/page/{number % 50}") for number in range(9_000)
    ]
    rows = spark.createDataFrame(
        pa.table([[b"k"] * 9_000, values, [0] * 9_000, [*range(9_000)], [NOW] * 9_000], schema=RECORDS)
    )
    records, context = decoded(rows.coalesce(1), plan.decoding_plan), BatchContext(None, NOW)
    estimate = plan.sample(records, context).row_bytes * len(values)
    size = plan.packed(plan.keyed(records, context)).toArrow().nbytes
    assert 0.6 < estimate / size < 1.6


def random_report(chance: Random) -> dict[str, Any]:
    window = chance.choice(WINDOWS)
    is_of_time, is_of_visits = "size" in window, "gap" in window
    measures = [
        name
        for name, measure in MEASURES.items()
        if measure.is_anywhere or (is_of_visits if measure.is_of_visits else is_of_time)
    ]
    keys = sorted(chance.sample([c.USER_ID, c.PAGE_URL, c.EVENT_TYPE], chance.randint(0, 3)))
    chosen = [*{"page_views", *chance.sample(measures, chance.randint(0, 3))}]
    if "sessions_begun" in chosen and c.PAGE_URL in keys:
        chosen.remove("sessions_begun")
    report = {"keys": keys, "window": window, "measures": chosen, "where": chance.choice(WHERE)}
    return report | ({"session_gap": "30s"} if "sessions_begun" in chosen else {})


def random_records(chance: Random, count: int) -> pa.Table:
    """Returns events of few users, of which some are late, from the future or broken, and other bytes."""
    values = [random_value(chance) for _ in range(count)]
    partitions = [chance.randrange(PARTITIONS) for _ in range(count)]
    stamps = [NOW - chance.choice([0, 1, 10_000, 10**6]) for _ in range(count)]
    return pa.table([[b"k"] * count, values, partitions, [*range(count)], stamps], schema=RECORDS)


def random_value(chance: Random) -> bytes | None:
    user = chance.choice(["ann", "bob", "ä" * 20, "", "carla" * 9])
    time = NOW - chance.choice([chance.randint(0, 60_000), chance.randint(0, 400_000), -(10**9), 0])
    event = value_of(user, time, chance.choice(["visit", "click"]), chance.choice(["/", "/a", "/ab", "/ä"]))
    broken = event.replace(b"ann", b"\xff\xfe\xfd")
    return chance.choice([*([event] * 12), broken, b"", None, b"noise", header(1) + b"x", header(77) + b"x"])


def added_up(rows: pa.Table) -> dict[Row, Row]:
    """Returns the parts of each row of panes by what identifies it: a fold may return a group in several rows."""
    names = [name for name in rows.column_names if name not in JOINS]
    groups = dict[Row, Row]()
    for row in rows.to_pylist():
        key, values = tuple(row[name] for name in names), tuple(row[name] for name in JOINS)
        groups[key] = tuple(map(joined, JOINS.values(), groups[key], values)) if key in groups else values
    return {key: tuple(map(shown, JOINS.values(), values)) for key, values in groups.items()}


def shown(join: Join, value: Any) -> Any:
    """Returns the count of a sketch, whose bytes depend on the order in which it was made, and other values as is."""
    return estimate(value) if join is Join.SKETCH and value is not None else value


def joined(join: Join, *values: Any) -> Any:
    functions: dict[Join, Any] = {Join.SUM: sum, Join.MIN: min, Join.MAX: max, Join.SKETCH: merged}
    present = [value for value in values if value is not None]
    return functions[join](present) if present else None


def statistic(row: Mapping[str, Any]) -> Statistic:
    index, partition, check, pane, records, latest = (row[name] for name in COUNTED_BY)
    return Statistic(index, partition, check, pane, 0, records, latest, 0)
