"""The live view: the published and the open windows, and the state of each row, in every engine."""

from typing import Any

import pyarrow as pa
import pytest

from tests.support.kafka_cluster import Cluster
from tests.support.live_views import READERS, by_delta_rs, cells, each_reader
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of, take
from tests.support.topic_writer import event
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.reading.sql_views import live_view_sql
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.engines import Engine

pytestmark = pytest.mark.broker

REPORTS: dict[str, dict[str, Any]] = {
    "page_views": {"keys": ["user_id"]},
    "sliding": {"window": {"size": "10s", "slide": "5s"}},
    "growing": {"window": {"size": "20s", "step": "5s"}},
    "visitors": {"measures": ["unique_users"], "window": {"size": "20s"}},
}
TIME = {"bound": "0s", "allowed_lateness": "10s", "idle_timeout": "1h", "max_future_skew": "1h"}


@pytest.fixture(scope="module")
def settings(broker: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The watermark is 42 s: [10, 20) is corrected, [20, 30) closed, [30, 40) fired, [40, 50) open."""
    topic = "live"
    broker.create_topic(topic, 1, **ANY_TIMESTAMP)
    settings = settings_of(
        broker, topic, tmp_path_factory.mktemp("live"), time=TIME, window={"size": "10s"}, reports=REPORTS, totals={}
    )
    steps = [
        [event("ann", 12_000), event("ann", 25_000), event("ann", 33_000)],
        [event("bob", 41_000, "click"), event("bob", 42_000)],
        [event("ann", 13_000)],
    ]
    with open_service(settings, now=Clock()) as service:
        take(service, broker, topic, steps)
    apply_corrections(settings, LetterSelection())
    return settings


@pytest.mark.parametrize("reader", READERS)
def test_every_row_says_what_it_is(settings: Settings, reader: str) -> None:
    found = READERS[reader](settings.warehouse, "page_views")
    assert cells(found, "user_id", "window_start", "window_end", "page_views", "clicks", "late_events", "state") == [
        ("ann", 10_000, 20_000, 2, 0, 1, "corrected"),
        ("ann", 20_000, 30_000, 1, 0, 0, "closed"),
        ("ann", 30_000, 40_000, 1, 0, 0, "fired"),
        ("bob", 40_000, 50_000, 1, 1, 0, "open"),
    ]


@each_reader(0)
def test_its_columns_are_those_of_the_report(settings: Settings, reader: str) -> None:
    found = READERS[reader](settings.warehouse, "page_views")
    names = ["window_start", "window_end", "user_id", "page_views", "clicks", "late_events", "published_batch", "state"]
    assert found.column_names == names
    assert {found.schema.field(name).type for name in names[3:-1]} == {pa.int64()}


def test_windows_that_slide_are_open_side_by_side(settings: Settings) -> None:
    found = cells(by_delta_rs(settings.warehouse, "sliding"), "state", "window_start", "page_views", "clicks")
    assert found[-2:] == [("open", 35_000, 1, 1), ("open", 40_000, 1, 1)]
    assert [state for state, *_ in found].count("open") == 2


@each_reader(1)
def test_windows_that_grow_are_open_side_by_side(settings: Settings, reader: str) -> None:
    found = READERS[reader](settings.warehouse, "growing")
    assert cells(found, "window_start", "window_end", "page_views", "clicks", "late_events", "state") == [
        (0, 15_000, 2, 0, 1, "corrected"),
        (0, 20_000, 2, 0, 1, "corrected"),
        (20_000, 30_000, 1, 0, 0, "closed"),
        (20_000, 35_000, 2, 0, 0, "fired"),
        (20_000, 40_000, 2, 0, 0, "fired"),
        *((40_000, end, 1, 1, 0, "open") for end in range(45_000, 60_001, 5_000)),
    ]


@each_reader(2)
def test_different_users_so_far_are_known_to_those_who_can_merge_sketches(settings: Settings, reader: str) -> None:
    found = cells(READERS[reader](settings.warehouse, "visitors"), "window_start", "unique_users")
    assert found == [(0, 1), (20_000, 1), (40_000, 1 if reader == "spark" else None)]


@pytest.mark.parametrize(("report", "said"), [("user_totals", "has no windows"), ("nothing", "has no report nothing")])
def test_a_report_without_a_live_view_is_reported(settings: Settings, report: str, said: str) -> None:
    with pytest.raises(SetUpError, match=said):
        live_view_sql(settings.warehouse, report, Engine.SPARK)
