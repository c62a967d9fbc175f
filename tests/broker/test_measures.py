"""Different users and sessions begun: through batches, restarts, compaction and corrections, and for Spark to merge."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import drawn
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.spark_reader import spark_reader
from tests.support.topic_writer import Raw, event, send
from tests.support.warehouse import milliseconds, rows
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.broker

REPORTS: dict[str, dict[str, Any]] = {
    "visitors": {"keys": ["page_url"], "measures": ["unique_users", "page_views"]},
    "landings": {"keys": ["page_url"], "measures": ["sessions_begun"], "session_gap": "5s"},
    "site": {"measures": ["unique_users", "sessions_begun"], "session_gap": "5s"},
    "ends": {"keys": ["user_id"], "measures": ["last_page_url", "first_seen", "last_seen"]},
}
TIME = {"bound": "0s", "allowed_lateness": "15s", "idle_timeout": "1h", "max_future_skew": "1h"}
Cells = dict[tuple[Any, ...], tuple[int, ...]]


@pytest.fixture(params=drawn([100, 1], 1), ids=["as_it_is", "compacted_after_each_batch"])
def settings(
    broker: Cluster,
    make_topic: Callable[..., str],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Settings]:
    """Windows of 10 s; the watermark comes to 24, 24, 90 s."""
    tuning = Tuning(upkeep_batches=request.param, merged_runs=2)
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path, time=TIME, window={"size": "10s"}, reports=REPORTS)
    steps = [
        # bob's session goes on over the border at 10 s; ann comes back after 6 s, and lands on /b.
        [visit("ann", 1, "/a"), visit("bob", 8, "/a"), visit("bob", 12, "/b"), visit("cat", 12, "/a")],
        [visit("ann", 7, "/b"), visit("eve", 24, "/a")],
        # Allowed, though [0, 10) has fired: cat was there before, so the session at 12 s did not begin then.
        [visit("cat", 9, "/b")],
        [visit("eve", 90, "/a")],
    ]
    clock = Clock(LATER)
    for half in (steps[:2], steps[2:]):
        with open_service(settings, now=clock, tuning=tuning) as service:
            take(service, broker, topic, half)
    yield settings
    assert_conserved(Path(settings.warehouse))


def visit(user: str, second: int, page: str) -> Raw:
    return event(user, second * 1_000, page=page)


def published(settings: Settings, name: str) -> Cells:
    """(page, start in seconds) -> the measures, in their order."""
    keys = REPORTS[name].get("keys", [])
    names = [one for one in ("page_views", "unique_users", "sessions_begun") if one in REPORTS[name]["measures"]]
    found = rows(Path(settings.warehouse), name)
    return {
        (*(row[key] for key in keys), milliseconds(row["window_start"]) // 1_000): tuple(row[one] for one in names)
        for row in found
    }


def test_measures_are_right_for_spark_too_and_after_corrections(settings: Settings, broker: Cluster) -> None:
    """One play for all parts, because each takes two lives of a service: each part goes on where the last ended."""
    each_report_has_the_measures_it_is_configured_with(settings)
    spark_counts_the_users_of_any_stretch_from_the_sketches(settings)
    before = ends(settings)
    a_correction_adds_its_user(settings, broker)
    a_correction_moves_the_times_and_the_last_page(settings, broker, before)


def each_report_has_the_measures_it_is_configured_with(settings: Settings) -> None:
    assert published(settings, "visitors") == {
        ("/a", 0): (2, 2),
        ("/b", 0): (2, 2),
        ("/a", 10): (1, 1),
        ("/b", 10): (1, 1),
        ("/a", 20): (1, 1),
    }
    assert published(settings, "landings") == {
        ("/a", 0): (2,),
        ("/b", 0): (2,),
        ("/a", 10): (0,),
        ("/b", 10): (0,),
        ("/a", 20): (1,),
    }
    assert published(settings, "site") == {(0,): (3, 4), (10,): (2, 0), (20,): (1, 1)}
    assert {*rows(Path(settings.warehouse), "landings")[0]} == {
        *("window_start", "window_end", "page_url", "sessions_begun", "late_events", "published_batch")
    }


def ends(settings: Settings) -> dict[tuple[str, int], tuple[str, int, int]]:
    """(user, start in seconds) -> the last page, and when the user was first and last seen, in seconds."""
    return {
        (row["user_id"], milliseconds(row["window_start"]) // 1_000): (
            row["last_page_url"],
            milliseconds(row["first_seen"]) // 1_000,
            milliseconds(row["last_seen"]) // 1_000,
        )
        for row in rows(Path(settings.warehouse), "ends")
    }


def spark_counts_the_users_of_any_stretch_from_the_sketches(settings: Settings) -> None:
    stored = f"SELECT users_sketch FROM delta.`{settings.warehouse}/visitors`"  # noqa: S608 - our own
    own = "SELECT hll_sketch_agg(user_id) FROM VALUES ('ann'), ('bob'), ('cat'), ('fay') AS users(user_id)"
    estimates = [
        spark_reader().sql(f"SELECT hll_sketch_estimate(hll_union_agg(users_sketch)) AS n FROM ({sketches})")["n"]  # noqa: S608 - our own
        for sketches in (stored, f"{stored} UNION ALL {own}")
    ]
    assert [estimate.to_pylist() for estimate in estimates] == [[4], [5]]


def a_correction_adds_its_user(settings: Settings, broker: Cluster) -> None:
    topic = settings.kafka.topic
    with open_service(settings, now=Clock(LATER)) as service:
        send(broker.bootstrap_servers, topic, [visit("dan", 3, "/a"), visit("ann", 4, "/a"), visit("dan", 61, "/c")])
        service.drain()
    apply_corrections(settings, LetterSelection())
    apply_corrections(settings, LetterSelection())
    assert published(settings, "visitors")["/a", 0] == (4, 3)
    assert published(settings, "visitors")["/c", 60] == (1, 1)
    assert published(settings, "site")[(0,)] == (4, 4)


def a_correction_moves_the_times_and_the_last_page(
    settings: Settings, broker: Cluster, before: dict[tuple[str, int], tuple[str, int, int]]
) -> None:
    shown_before = {("ann", 0): ("/b", 1, 7), ("bob", 0): ("/a", 8, 8), ("cat", 0): ("/b", 9, 9)}
    assert before.items() >= shown_before.items()
    assert ends(settings).items() >= shown_before.items()
    topic, late = settings.kafka.topic, [visit("bob", 9, "/c"), visit("bob", 5, "/d"), visit("dan", 61, "/c")]
    with open_service(settings, now=Clock(LATER)) as service:
        send(broker.bootstrap_servers, topic, late)
        service.drain()
    apply_corrections(settings, LetterSelection())
    apply_corrections(settings, LetterSelection())
    corrected = {**shown_before, ("bob", 0): ("/c", 5, 9), ("dan", 60): ("/c", 61, 61)}
    assert ends(settings).items() >= corrected.items()
