"""The live view of calendar windows, sessions and count windows, in every engine, compacted or not.

CI asks Spark in one or two of the tests, in others in each run; the night in all.
"""

from typing import Any

import pytest

from tests.support.kafka_cluster import Cluster
from tests.support.live_views import READERS, cells, each_reader
from tests.support.seeds import drawn
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw, event
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.broker

MINUTE = 60_000
MIDNIGHT = 1_711_839_600_000  # in Berlin, 2024-03-31, a day of 23 hours
DAY = {"size": "1d", "zone": "Europe/Berlin"}
REPORTS: dict[str, dict[str, Any]] = {
    "days": {"keys": ["user_id"], "window": DAY},
    "visitors": {"measures": ["page_views", "unique_users"], "window": DAY},
    "landings": {"measures": ["unique_users", "sessions_begun"], "session_gap": "10m", "window": DAY},
    "sessions": {"keys": ["user_id"], "window": {"gap": "10m"}},
    "threes": {"keys": ["user_id"], "window": {"count": 3}},
    "fives": {"window": {"count": 5}},
    "last_threes": {"keys": ["user_id"], "window": {"count": 3, "slide": 1}},
}
TIME = {"bound": "0s", "allowed_lateness": "5m", "idle_timeout": "1h", "max_future_skew": "1h"}


def at(user: str, minute: int, act: str = "visit") -> Raw:
    return event(user, MIDNIGHT + minute * MINUTE, act)


@pytest.fixture(scope="module", params=drawn([100, 1], 1), ids=["as_it_is", "compacted_after_each_batch"])
def settings(broker: Cluster, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Settings:
    """Minutes from midnight; the watermark rises to -25, 80 and 100, and then stays."""
    steps = [
        [at("ann", -30), at("ann", -25)],
        [at("cat", 80)],
        [at("dan", 88), at("bob", 100)],
        # cat's session [80, 90) has closed, so an event within the gap begins a new session, which goes on.
        [at("cat", 88, "click"), at("cat", 97)],
        # Too late but for count windows.
        [at("ann", -20, "click")],
    ]
    topic = f"live-kinds-{request.param}"
    broker.create_topic(topic, 1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path_factory.mktemp("live"), time=TIME, reports=REPORTS)
    tuning = Tuning(upkeep_batches=request.param, merged_runs=2)
    with open_service(settings, now=Clock(LATER), tuning=tuning) as service:
        take(service, broker, topic, steps)
    apply_corrections(settings, LetterSelection())
    return settings


def live_rows(settings: Settings, reader: str, report: str, *measures: str) -> list[tuple[Any, ...]]:
    """State, start and end in minutes from midnight, keys, measures; in order."""
    keys = REPORTS[report].get("keys", [])
    found = cells(READERS[reader](settings.warehouse, report), "state", "window_start", "window_end", *keys, *measures)
    return [(state, minutes(start), minutes(end), *others) for state, start, end, *others in found]


def minutes(milliseconds: int) -> float:
    return (milliseconds - MIDNIGHT) / MINUTE


COUNTS = ("page_views", "clicks", "late_events")
MOMENT = 1 / MINUTE


@each_reader(0)
def test_a_day_of_the_calendar_is_open_until_its_own_end(settings: Settings, reader: str) -> None:
    assert live_rows(settings, reader, "days", *COUNTS) == [
        ("corrected", -24 * 60, 0, "ann", 2, 1, 1),
        ("open", 0, 23 * 60, "bob", 1, 0, 0),
        ("open", 0, 23 * 60, "cat", 2, 1, 0),
        ("open", 0, 23 * 60, "dan", 1, 0, 0),
    ]


@each_reader(1)
def test_of_an_open_day_the_users_are_known_where_they_are_kept(settings: Settings, reader: str) -> None:
    so_far = 3 if reader == "spark" else None
    assert live_rows(settings, reader, "visitors", "page_views", "unique_users")[-1] == ("open", 0, 23 * 60, 4, so_far)
    assert live_rows(settings, reader, "landings", "unique_users", "sessions_begun")[-1] == (
        "open",
        0,
        23 * 60,
        3,
        None,
    )


@each_reader(2)
def test_sessions_that_go_on_are_open(settings: Settings, reader: str) -> None:
    assert live_rows(settings, reader, "sessions", *COUNTS) == [
        ("closed", 80, 90, "cat", 1, 0, 0),
        ("corrected", -30, -10, "ann", 2, 1, 1),
        ("fired", 88, 98, "dan", 1, 0, 0),
        ("open", 88, 107, "cat", 1, 1, 1),
        ("open", 100, 110, "bob", 1, 0, 0),
    ]


@each_reader(3)
def test_count_windows_that_are_not_full_are_open(settings: Settings, reader: str) -> None:
    assert live_rows(settings, reader, "threes", *COUNTS) == [
        ("closed", -30, -20 + MOMENT, "ann", 2, 1, 0),
        ("closed", 80, 97 + MOMENT, "cat", 2, 1, 0),
        ("open", 88, 88 + MOMENT, "dan", 1, 0, 0),
        ("open", 100, 100 + MOMENT, "bob", 1, 0, 0),
    ]
    assert live_rows(settings, reader, "fives", *COUNTS) == [
        ("closed", -30, 100 + MOMENT, 5, 0, 0),
        ("open", -20, 97 + MOMENT, 1, 2, 0),
    ]


@each_reader(4)
def test_the_next_window_of_a_count_that_slides_is_open(settings: Settings, reader: str) -> None:
    assert live_rows(settings, reader, "last_threes", *COUNTS) == [
        ("closed", -30, -30 + MOMENT, "ann", 1, 0, 0),
        ("closed", -30, -25 + MOMENT, "ann", 2, 0, 0),
        ("closed", -30, -20 + MOMENT, "ann", 2, 1, 0),
        ("closed", 80, 80 + MOMENT, "cat", 1, 0, 0),
        ("closed", 80, 88 + MOMENT, "cat", 1, 1, 0),
        ("closed", 80, 97 + MOMENT, "cat", 2, 1, 0),
        ("closed", 88, 88 + MOMENT, "dan", 1, 0, 0),
        ("closed", 100, 100 + MOMENT, "bob", 1, 0, 0),
        # The last two events, to which the next event comes.
        ("open", -25, -20 + MOMENT, "ann", 1, 1, 0),
        ("open", 88, 88 + MOMENT, "dan", 1, 0, 0),
        ("open", 88, 97 + MOMENT, "cat", 1, 1, 0),
        ("open", 100, 100 + MOMENT, "bob", 1, 0, 0),
    ]
