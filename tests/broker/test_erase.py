"""A person is erased while the service runs: no publication meanwhile brings the person back."""

from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from tests.support.conservation import assert_conserved
from tests.support.every_file import files_with
from tests.support.kafka_cluster import Cluster
from tests.support.read_topic import ReadTopic, all_the_while
from tests.support.services import ANY_TIMESTAMP, Clock, running, settings_of
from tests.support.topic_writer import Raw, event
from tests.support.waiting import wait_for
from tests.support.warehouse import page_views, rows
from tidemark.pipeline.amend.erase.erasure import erase_person, persons_rows
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import TransientError

pytestmark = pytest.mark.broker

ANN, BOB, CID = "ann-of-clear-text", "bob-of-clear-text", "cid-of-clear-text"
PATIENCE_S = 600
TIME = {"bound": "0s", "allowed_lateness": "2s", "idle_timeout": "1h", "max_future_skew": "1h"}
REPORTS = {
    "page_views": {"keys": ["user_id"]},
    "visits": {"keys": ["user_id"], "window": {"gap": "2s"}},
    "landings": {"keys": ["page_url"], "measures": ["page_views", "clicks", "unique_users", "sessions_begun"]},
}
EVERYWHERE = {"corrections", "dead_letters", "page_views", "panes", "user_totals", "visits"}


@pytest.fixture
def topic(broker: Cluster, tmp_path: Path) -> ReadTopic:
    name = f"erase-{tmp_path.name}"
    broker.create_topic(name, 1, **ANY_TIMESTAMP)
    how = {"time": TIME, "window": {"size": "5s"}, "batch": {"interval": "100ms"}, "reports": REPORTS}
    return ReadTopic(broker, settings_of(broker, name, tmp_path, totals={"gap": "2s", "every": "1s"}, **how))


def others_act(topic: ReadTopic, now: int) -> None:
    topic.send(event(ANN, now), event(BOB, now - 1_500))


def test_a_person_is_erased_while_a_service_runs(topic: ReadTopic) -> None:
    settings, warehouse = topic.settings, Path(topic.settings.warehouse)
    with open_service(settings, now=Clock()) as service, running(service) as is_at_work:
        for second in range(1, 30):
            topic.send(*(event(user, second * 1_000, page="/a") for user in (ANN, BOB, CID)))
        topic.tell(event(ANN, 40_000))
        topic.tell(event(CID, 1_000), Raw(f"{{{CID}".encode(), CID.encode()), event(CID, 41_000), event(ANN, 50_000))
        apply_corrections(settings, LetterSelection(users=(CID,)))
        wait_for(lambda: persons_rows(settings, CID).keys() >= EVERYWHERE, PATIENCE_S, "all to be published")
        # Files of a commit that is refused meanwhile may be left, because they may be in use.
        seconds = count(51_000, 1_000)
        # Others act, and windows fire.
        with all_the_while(lambda: others_act(topic, next(seconds))), suppress(TransientError):
            erase_person(settings, CID)
        topic.wait()
        assert is_at_work()
    assert persons_rows(settings, CID) == {}
    erase_person(settings, CID, timedelta(0))
    assert files_with(warehouse, CID) == set()
    with open_service(settings, now=Clock()) as service:
        service.drain()
    assert files_with(warehouse, CID) == set(), "a start brings nobody back"
    assert {user for user, _, _ in page_views(warehouse)} == {ANN, BOB}
    assert_conserved(warehouse)
    told = {row["table"]: row["events"] for row in rows(warehouse, "erasures") if row["events"]}
    assert told == {"page_views": 30, "visits": 30, "user_totals": 30}
