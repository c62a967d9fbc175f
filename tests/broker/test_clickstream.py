"""Visits of a public clickstream equal a recount in DuckDB: entries, exits, bounces and durations.

Source of the events: retentioneering 5.2.4 (Apache-2.0): 31,106 events of 600 users.
"""

import json
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from dev.clickstream import clickstream
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw
from tests.support.warehouse import milliseconds, rows
from tidemark.pipeline.app import open_service

pytestmark = [pytest.mark.broker, pytest.mark.nightly]
KNOWN_VISITS: Final = 3_605
"""Sessions of half an hour."""
MINUTE: Final = 60_000
MAPPING: Final = {"kind": "event", "page": "event"}
MEASURES: Final = {
    "entry": {"first": "event"},
    "exit": {"last": "event"},
    "channel": {"first": "acquisition_channel"},
    "different_events": {"unique": "event"},
}
VISITS: Final = ("page_views", "clicks", "duration_ms", "bounced", *MEASURES)
_EVENTS_SQL: Final = """
SELECT row_number() OVER () AS number, user_id, event, acquisition_channel, epoch_ms(timestamp) AS event_time
FROM read_csv('{file}', types = {{'timestamp': 'TIMESTAMP'}})
"""
_VISITS_SQL: Final = """
WITH begun AS (
  SELECT *, CASE WHEN event_time - lag(event_time) OVER (PARTITION BY user_id ORDER BY event_time) <= 1800000
    THEN 0 ELSE 1 END AS begins
  FROM events
), numbered AS (
  SELECT *, sum(begins) OVER (PARTITION BY user_id ORDER BY event_time, begins DESC ROWS UNBOUNDED PRECEDING) AS visit
  FROM begun
)
SELECT min(event_time) AS start_ms, max(event_time) + 1800000 AS end_ms, user_id,
  count(*) FILTER (event <> 'purchase') AS page_views, count(*) FILTER (event = 'purchase') AS clicks,
  max(event_time) - min(event_time) AS duration_ms, CAST(count(*) = 1 AND min(event) <> 'purchase' AS INT) AS bounced,
  min({'time': event_time, 'event': event}).event AS entry, max({'time': event_time, 'event': event}).event AS exit,
  min({'time': event_time, 'channel': acquisition_channel}).channel AS channel,
  count(DISTINCT event) AS different_events
FROM numbered GROUP BY user_id, visit
"""


def test_the_visits_of_a_public_clickstream_equal_a_recount(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE events AS {_EVENTS_SQL.format(file=clickstream())}")
        events = connection.execute("SELECT * FROM events").to_arrow_table().to_pylist()
        expected = connection.execute(_VISITS_SQL).to_arrow_table().to_pylist()
    assert (len(events), len(expected)) == (31_106, KNOWN_VISITS)
    topic, kinds = make_topic(1, **ANY_TIMESTAMP), {event["event"]: "visit" for event in events}
    settings = settings_of(
        broker,
        topic,
        tmp_path / "warehouse",
        schemas={"format": "json", "mapping": {**MAPPING, "kinds": {**kinds, "purchase": "click"}}},
        measures=MEASURES,
        reports={"visits": {"keys": ["user_id"], "measures": [*VISITS], "window": {"gap": "30m"}}},
        time={"bound": "10m", "allowed_lateness": "0s"},
    )
    records = _disordered(events)
    cuts = [0, 9_000, 20_000, len(records)]
    with open_service(settings, now=Clock(LATER * 1_000)) as service:
        take(service, broker, topic, [records[start:end] for start, end in pairwise(cuts)])
    assert_conserved(settings.warehouse)
    names = ("user_id", *VISITS)
    found = Counter(
        (milliseconds(row["window_start"]), milliseconds(row["window_end"]), *(row[name] for name in names))
        for row in rows(settings.warehouse, "visits")
        if row["user_id"] != "last"
    )
    assert found == Counter((row["start_ms"], row["end_ms"], *(row[name] for name in names)) for row in expected)


def _disordered(events: list[dict[str, Any]]) -> list[Raw]:
    """Returns the records, up to ten minutes out of order, and one that ends all visits."""
    draw = random.Random(1)
    in_order = sorted(events, key=lambda event: event["event_time"] + draw.randrange(10 * MINUTE))
    last = {**events[0], "user_id": "last", "event_time": max(event["event_time"] for event in events) + 60 * MINUTE}
    return [Raw(json.dumps(event).encode(), timestamp_ms=event["event_time"]) for event in (*in_order, last)]
