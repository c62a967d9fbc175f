"""Totals per user are exact, whatever order the events come in, with compaction and across a restart."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, metric, running, settings_of, take
from tests.support.topic_writer import event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import milliseconds, rows, user_totals
from tidemark.pipeline.app import open_service
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.broker

TIME = {"bound": "20s", "allowed_lateness": "10s", "idle_timeout": "1h", "max_future_skew": "1h"}
GAP_MS = 7_000
PATIENCE_S = 600
REPLACED = 'tidemark_table_replaced_bytes_total{purpose="publication",table="user_totals"}'
Event = tuple[str, int, str]
COMPACTED = Tuning(upkeep_batches=1, merged_runs=2)
"""Panes are compacted after every batch."""


def stream(seed: int) -> list[list[Event]]:
    """Eight batches over 300 s, each event up to 25 s older than the newest; then an event that fires all windows."""
    chance = Random(seed)
    steps = [
        [
            (
                chance.choice("abc"),
                30_000 + number * 35_000 + chance.randrange(35_000) - chance.choice([0, 0, 20_000]),
                chance.choice(["visit", "click"]),
            )
            for _ in range(12)
        ]
        for number in range(8)
    ]
    return [*steps, [("z", 500_000, "visit")]]


def expected(events: list[Event]) -> dict[str, tuple[int, int, int, int, int]]:
    """User -> first seen, last seen, sessions, page views, clicks."""
    found = {}
    for user in {user for user, _, _ in events}:
        times = sorted(time for one, time, _ in events if one == user)
        sessions = 1 + sum(later - one > GAP_MS for one, later in pairwise(times))
        clicks = sum(act == "click" for one, _, act in events if one == user)
        found[user] = (times[0], times[-1], sessions, len(times) - clicks, clicks)
    return found


def test_totals_are_those_of_all_counted_events(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, steps = make_topic(1, **ANY_TIMESTAMP), stream(seed=5)
    settings = settings_of(
        broker, topic, tmp_path, time=TIME, window={"size": "10s"}, totals={"gap": "7s", "every": "10s"}
    )
    for half in (steps[:4], steps[4:]):
        with open_service(settings, now=Clock(LATER), tuning=COMPACTED) as service:
            take(service, broker, topic, [[event(*one) for one in step] for step in half])
    dead = {(row["user_id"], row["event_time"]) for row in rows(tmp_path, "dead_letters")}
    counted = [one for step in steps for one in step if one[:2] not in dead]
    found = user_totals(tmp_path)
    told = expected(counted)
    del told["z"]  # its window has not fired
    assert {user: found[user] for user in told} == told
    final = [row for row in rows(tmp_path, "panes") if row["report"] == "user_totals" and row["sessions"]]
    assert final, "compaction keeps final sessions as a number"
    assert_conserved(tmp_path)


@pytest.mark.parametrize("restart", [False, True])
def test_totals_are_rewritten_whenever_the_interval_passed_however_long_the_gap(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, restart: bool
) -> None:
    topic, steps = make_topic(1, **ANY_TIMESTAMP), [[event("ann", time)] for time in (5_000, 15_000, 25_000)]
    sessions = {"keys": ["user_id"], "window": {"gap": "30s"}}
    settings = settings_of(
        broker, topic, tmp_path, time={**TIME, "bound": "0s"}, reports={"sessions": sessions}, totals={"every": "10s"}
    )
    for life in [[step] for step in steps] if restart else [steps]:
        with open_service(settings, now=Clock(LATER), tuning=COMPACTED) as service:
            take(service, broker, topic, life)
    (row,) = rows(tmp_path, "user_totals")
    assert (milliseconds(row["last_seen"]), row["page_views"]) == (25_000, 3)
    assert_conserved(tmp_path)


def test_a_service_in_its_loop_writes_the_buckets_of_users_who_came(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    tuning = Tuning(upkeep_batches=1, bucket_rows=3)
    topic, many = make_topic(1, **ANY_TIMESTAMP), [f"user-{number}" for number in range(30)]
    settings = settings_of(
        broker, topic, tmp_path, time={**TIME, "bound": "0s"}, window={"size": "10s"}, totals={"every": "10s"}
    )
    send(broker.bootstrap_servers, topic, [event(user, 5_000) for user in many])
    send(broker.bootstrap_servers, topic, [event("ann", 15_000)])
    with open_service(settings, now=Clock(LATER), tuning=tuning) as service, running(service) as is_running:
        wait_for(lambda: len(seen(tmp_path)) == 31 or not is_running(), PATIENCE_S, "the totals")
        before = files(tmp_path)
        send(broker.bootstrap_servers, topic, [event("user-7", 25_000)])
        wait_for(lambda: seen(tmp_path).get("user-7") == 25_000 or not is_running(), PATIENCE_S, "the totals")
        after = files(tmp_path)

        def is_measured() -> bool:
            """Upkeep reads the logs; a batch that comes during another's upkeep has no upkeep of its own."""
            if metric(service, REPLACED) > 0 or not is_running():
                return True
            send(broker.bootstrap_servers, topic, [event("ann", 1_000)])  # too late for every window
            return False

        wait_for(is_measured, PATIENCE_S, "a reading of the logs")
    assert len(before) > 8
    assert len(before - after) == 1, "the bucket of the one who came again"
    with open_service(settings, now=Clock(LATER), tuning=tuning) as service, running(service) as is_running:
        send(broker.bootstrap_servers, topic, [event("user-8", 35_000)])
        wait_for(lambda: seen(tmp_path).get("user-8") == 35_000 or not is_running(), PATIENCE_S, "the totals")
    assert len(after - files(tmp_path)) == 1, "a start writes no more than that"
    assert seen(tmp_path) == {**dict.fromkeys(many, 5_000), "ann": 15_000, "user-7": 25_000, "user-8": 35_000}
    assert_conserved(tmp_path)


def seen(warehouse: Path) -> dict[str, int]:
    """When each user was last seen; of no user before there is a table."""
    if not DeltaTable.is_deltatable(f"{warehouse}/user_totals"):
        return {}
    return {user: told[1] for user, told in user_totals(warehouse).items()}


def files(warehouse: Path) -> set[str]:
    """Returns the rows of the newest version."""
    return {*DeltaTable(f"{warehouse}/user_totals").file_uris()}
