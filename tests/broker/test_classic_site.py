"""The ten reports of a classic site, by the settings file of the docs, equal a recount in DuckDB over raw events."""

import random
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import in_turn
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw
from tests.support.warehouse import milliseconds, rows
from tidemark.pipeline.app import open_service
from tidemark.producers.encode import encode_one

pytestmark = pytest.mark.broker
FILE: Final = Path(__file__).parents[2] / "docs" / "classic-site.toml"
MINUTE: Final = 60_000
DAY: Final = 24 * 60 * MINUTE
BEGIN: Final = 1_791_331_200_000
"""2026-10-07 in UTC: a month in which the clocks of the zone are put back."""
DAYS: Final = 30
USERS: Final = 120
_SITE: Final = "https://shop.example"
_HOSTS: Final = ("https://search.example/q?x=1", "http://news.example/", None, None, "no address")
_CAMPAIGNS: Final = ("?utm_campaign=spring", "?utm_source=a&utm_campaign=sale", "?utm_source=b", "", "", "")
_RECOUNT_SQL: Final = Path(__file__).with_name("classic_site.sql").read_text(encoding="utf-8")
_SETTINGS: Final = tomllib.loads(FILE.read_text(encoding="utf-8"))


def month(seed: int) -> list[dict[str, Any]]:
    """Returns the events of a month, in the order of their times; no user has two events at a time."""
    draw, events = random.Random(seed), list[dict[str, Any]]()
    for user in range(USERS):
        time = BEGIN + draw.randrange(2 * DAY)
        while time < BEGIN + DAYS * DAY:
            events += _visit(draw, f"user-{user}", time)
            time = events[-1]["event_time"] + 31 * MINUTE + int(draw.expovariate(1 / (1.5 * DAY)))
    # An event in the following month ends all windows.
    last = {**events[0], "event_id": "last", "user_id": "last", "event_time": BEGIN + (DAYS + 10) * DAY}
    return [*sorted(events, key=lambda event: event["event_time"]), last]


def _visit(draw: random.Random, user: str, time: int) -> Iterator[dict[str, Any]]:
    referrer, page = draw.choice(_HOSTS), f"{_SITE}/{draw.choice('abcdefgh')}{draw.choice(_CAMPAIGNS)}"
    for number in range(draw.choice([1, 1, 2, 3, 5, 9])):
        kind = "visit" if number == 0 and draw.random() < 0.98 else draw.choice(["visit", "visit", "click"])
        if number and kind == "visit":
            referrer, page = page, f"{_SITE}/{draw.choice('abcdefgh')}"
        yield {
            "event_id": f"{user} {time}",
            "event_type": kind,
            "user_id": user,
            "event_time": time,
            "page_url": page,
            "referrer": referrer if kind == "visit" else None,
        }
        time += draw.choice([1, 30 * MINUTE - 1, 30 * MINUTE, draw.randrange(1, 10 * MINUTE)])


def disordered(events: list[dict[str, Any]], seed: int) -> list[Raw]:
    """Returns the records, with events up to a minute later than newer events."""
    draw = random.Random(seed)
    in_order = sorted(events, key=lambda event: event["event_time"] + draw.randrange(MINUTE))
    return [Raw(encode_one(event), timestamp_ms=event["event_time"]) for event in in_order]


def recounted(events: list[dict[str, Any]], name: str) -> pa.Table:
    """Returns the rows of a report, recounted from the raw events."""
    with duckdb.connect() as connection:
        connection.register("raw", pa.Table.from_pylist(events))
        connection.execute(_RECOUNT_SQL)
        return connection.table(name).to_arrow_table()


@in_turn(0, 2)
def test_each_report_of_the_docs_equals_a_recount_of_a_month(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    events, topic = month(1), make_topic(1, **ANY_TIMESTAMP)
    records = disordered(events, 2)
    settings = settings_of(broker, topic, tmp_path / "warehouse", **_SETTINGS)
    cuts = [0, len(records) // 3, len(records) // 2, len(records)]
    with open_service(settings, now=Clock(LATER * 1_000)) as service:
        take(service, broker, topic, [records[start:end] for start, end in pairwise(cuts)])
    assert_conserved(settings.warehouse)
    counted = [event for event in events if event["user_id"] != "last"]
    assert len(settings.reports) == 10
    for name in settings.reports:
        expected = recounted(counted, name)
        assert len(expected) > DAYS, name
        found = [_plain(row) for row in rows(settings.warehouse, name)]
        names = expected.column_names
        assert Counter(tuple(row[column] for column in names) for row in found) == Counter(
            tuple(row[column] for column in names) for row in expected.to_pylist()
        ), name


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "start_ms": milliseconds(row["window_start"])}
