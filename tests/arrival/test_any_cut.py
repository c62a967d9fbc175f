"""Judged by arrival, a topic gives the same tables and dead letters through a service, however it is cut into batches.

The batches are given here, so that their cuts are random; `tests/broker/test_planned_arrivals.py` plans them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import pytest
from deltalake import DeltaTable

from tests.event_time.arrival_rule import Record, Topic, steps_of, whole
from tests.event_time.test_arrival import random_cuts, random_topic
from tests.support import warehouse as tables
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of
from tests.support.topic_writer import Raw, event, send
from tests.verify.plant import alter
from tidemark.pipeline.app import open_service
from tidemark.pipeline.event_time.arrival import STEP_MS
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.reading.comparison.comparison_outcome import ComparisonOutcome
from tidemark.pipeline.reading.comparison.comparison_output import sentences
from tidemark.pipeline.reading.comparison.warehouse_comparison import compare
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tuning import STANDARD

pytestmark = [pytest.mark.broker, pytest.mark.core]

Bag = Counter[tuple[Any, ...]]
_BASE_MS: Final = (now_ms() - 86_400_000) // 60_000 * 60_000
_AHEAD_MS: Final = 3_600_000
_MEASURES: Final = ["page_views", "clicks", "wait", "way", "rests"]
_SECTIONS: Final[Mapping[str, Any]] = {
    "time": {"judged": "arrival", "bound": "500ms", "allowed_lateness": "2s", "idle_timeout": "2s",
             "max_future_skew": "400ms"},
    "measures": {
        "wait": {"quantiles": {"sql": "event_time % 1009 - 500"}, "at": [0.5, 0.9]},
        "way": {"path": {"sql": "event_time % 7"}, "most": 4},
        "rests": {"collect_set": {"sql": "event_time % 7"}, "most": 4},
    },
    "reports": {
        "sliding": {"window": {"size": "4s", "slide": "2s"}, "keys": ["user_id"]},
        "visits": {"window": {"gap": "1500ms"}, "keys": ["user_id"], "allowed_lateness": "1s", "measures": _MEASURES},
        "all": {"window": {"size": "10s"}, "keys": [], "allowed_lateness": "0s", "measures": _MEASURES},
    },
    "totals": {"gap": "5s", "every": "1m"},
}  # fmt: skip
_OF_A_CUT: Final = frozenset({"published_batch", "batch", "bucket", "fired_batch"})
"""Columns that say in which batch something happened."""


def test_any_cut_of_a_topic_gives_the_same_tables_and_dead_letters(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    chance = Random(SEED)
    records = random_topic(chance)
    while sum(map(len, records)) < 60:
        records = random_topic(chance)
    name = make_topic(len(records), **ANY_TIMESTAMP)
    for partition, own in enumerate(records):
        send(broker.bootstrap_servers, name, [raw(each, partition, index) for index, each in enumerate(own)])
    found = dict[str, Mapping[str, Bag]]()
    for place, cuts in {"whole": [], "cut": random_cuts(chance, records)[:6]}.items():
        settings = settings_of(broker, name, tmp_path / place, **_SECTIONS)
        take(settings, records, cuts, chance)
        assert_conserved(tmp_path / place)
        assert not any(row["unsettled"] for row in tables.rows(tmp_path / place, "ledger"))
        found[place] = bags(tmp_path / place, [*_SECTIONS["reports"], "user_totals"])
    assert found["cut"] == found["whole"]
    assert_comparable(tmp_path / "cut", tmp_path / "whole")
    judged, _ = whole(records, settings_of(broker, name, tmp_path, **_SECTIONS).policy())
    letters = found["whole"]["dead_letters"]
    assert letters
    watermarks = {(number, index): mark for (number, index), mark in judged.items()}
    rows = tables.rows(tmp_path / "cut", "dead_letters")
    assert {(row["partition"], row["offset"]): shifted(row["watermark"]) for row in rows} == {
        place: watermarks[place] for place in ((row["partition"], row["offset"]) for row in rows)
    }


def assert_comparable(one: Path, other: Path) -> None:
    """`tidemark compare` finds them equal, also in how many events came late, and finds another number."""
    comparison = compare(str(one), str(other))
    assert comparison.outcome is ComparisonOutcome.EQUAL, "\n".join(sentences(comparison))
    values = {table.name: {*table.values} for table in comparison.tables}
    assert all("late_events" in values[name] for name in _SECTIONS["reports"])
    assert values["dead_letters"] == {"reason", "watermark", "detail"}
    version = DeltaTable(str(other / "all")).version()
    alter(other, "all", lambda rows: [row | {"late_events": row["late_events"] + 1} for row in rows])
    assert compare(str(one), str(other)).outcome is ComparisonOutcome.DIFFERENT
    DeltaTable(str(other / "all")).restore(version)
    alter(other, "all", lambda rows: [row | {"way": [*reversed(row["way"]), "8"]} for row in rows])
    assert compare(str(one), str(other)).outcome is ComparisonOutcome.DIFFERENT
    DeltaTable(str(other / "all")).restore(version)


def take(settings: Settings, records: Topic, cuts: Sequence[int], chance: Random) -> None:
    """Takes a topic in batches that end before these steps; a service may be replaced between two batches."""
    arrived = [[step for step, _ in steps_of(own)] for own in records]
    end = max(steps[-1] for steps in arrived if steps) + 1
    clock, places = Clock(_BASE_MS + _AHEAD_MS), [0] * len(records)
    with ExitStack() as opened:
        service = opened.enter_context(open_service(settings, now=clock))
        for step in [*(step for step in cuts if step < end), end]:
            if chance.random() < 0.3:
                opened.close()
                tuning = replace(STANDARD, chunk_bytes=chance.choice([1_000, STANDARD.chunk_bytes]))
                service = opened.enter_context(open_service(settings, now=clock, tuning=tuning))
            starts, places = places, [int(np.searchsorted(steps, step)) for steps in arrived]
            stream, until = service._stream, _BASE_MS + step * STEP_MS
            ranges = TopicRanges(stream.spark, stream.kafka, dict(enumerate(starts)), dict(enumerate(places)), until)
            stream.on_batch(ranges)
        service.end_input()


def raw(record: Record, partition: int, index: int) -> Raw:
    """Returns a record of the rule as one of Kafka; without a trusted time it is of the future, or no event."""
    stamp = _BASE_MS + record.kafka_timestamp
    time = _BASE_MS + record.time if record.moves else stamp + _AHEAD_MS
    whole = event("ab"[index % 2], time, partition=partition, timestamp_ms=stamp)
    return whole if record.is_event else replace(whole, value=whole.value and whole.value[:8])


def bags(warehouse: Path, others: Iterable[str]) -> Mapping[str, Bag]:
    """Returns the rows of tables that readers see, and dead letters, without what depends on the batches."""
    names = [*others, "dead_letters"]
    return {name: Counter(row_of(row) for row in tables.rows(warehouse, name)) for name in names}


def row_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    columns = {name: tables.hashable(value) for name, value in sorted(row.items())}
    return tuple(value for name, value in columns.items() if name not in _OF_A_CUT and not name.endswith("_sketch"))


def shifted(watermark: int | None) -> int | None:
    return None if watermark is None else watermark - _BASE_MS
