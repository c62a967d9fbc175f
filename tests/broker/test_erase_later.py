"""Later events of a person who was erased are dropped by the service at work, which takes notice by itself."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conservation import assert_conserved
from tests.support.every_file import files_with
from tests.support.kafka_cluster import Cluster
from tests.support.read_topic import ReadTopic, all_the_while
from tests.support.services import ANY_TIMESTAMP, Clock, running, settings_of
from tests.support.topic_writer import Raw, event, value_of
from tests.support.waiting import wait_for
from tests.support.warehouse import rows
from tidemark.pipeline.amend.erase.erasure import erase, erase_person, persons_rows
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import TransientError

pytestmark = pytest.mark.broker

ANN, CID, DAN = "ann-of-clear-text", "cid-of-clear-text", "dan-of-clear-text"
KEY = "the-key-of-this-test-which-nobody-else-has"
PATIENCE_S = 600
TIME = {"bound": "0s", "allowed_lateness": "2s", "idle_timeout": "1h", "max_future_skew": "1h"}
HOW = {
    "time": TIME,
    "window": {"size": "5s"},
    "batch": {"interval": "100ms"},
    "reports": {
        "page_views": {"keys": ["user_id"]},
        "landings": {"keys": ["page_url"], "measures": ["page_views", "clicks", "unique_users"]},
    },
    "totals": {"gap": "2s", "every": "1s"},
}
LATER = [
    event(CID, 42_000, page="/a"),
    event(CID, 1_000),
    event(CID, 90_000, timestamp_ms=1_000),
    event(CID, 10**9, timestamp_ms=41_000),
    Raw(f"{{{CID}".encode(), CID.encode()),
    Raw(value_of(CID, 43_000)[:-4], CID.encode()),
]
"""Returns events in time, too late and from the future, and malformed records under the person's key."""


@pytest.fixture
def topic(broker: Cluster, tmp_path: Path) -> ReadTopic:
    name = f"later-{tmp_path.name}"
    broker.create_topic(name, 1, **ANY_TIMESTAMP)
    return ReadTopic(broker, settings_of(broker, name, tmp_path, **HOW))


def test_what_comes_later_is_dropped_without_a_restart_until_that_is_taken_back(
    topic: ReadTopic, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, warehouse = topic.settings, Path(topic.settings.warehouse)
    with open_service(settings, now=Clock()) as service, running(service) as is_at_work:
        topic.tell(*(event(user, second * 1_000) for second in range(1, 9) for user in (ANN, CID)), event(ANN, 41_000))
        # Files of a commit that is refused meanwhile may be left, because they may be in use.
        with all_the_while(lambda: topic.tell(event(ANN, 41_000))), suppress(TransientError):
            erase(settings, CID, confirmed=True, drops_later=True)
        assert "No batch was committed meanwhile" not in capsys.readouterr().out
        watermark = newest(warehouse)["watermark"]
        topic.tell(*LATER)
        assert newest(warehouse)["watermark"] == watermark, "nothing of the person moves the watermark"
        topic.tell(event(ANN, 44_000), event(DAN, 45_000))
        assert apply_corrections(settings, LetterSelection(users=(CID,))).rows == []
        assert is_at_work()
        erase_person(settings, CID, timedelta(0))
        assert persons_rows(settings, CID) == {}
        assert files_with(warehouse, CID) == set()
        assert Counter(row["reason"] for row in rows(warehouse, "dead_letters")) == {"erased": len(LATER)}
        assert newest(warehouse)["max_event_time"] == 45_000
        assert sum(row["erased"] for row in rows(warehouse, "ledger")) == len(LATER)
        assert_conserved(warehouse)
        assert main(["erase", "--warehouse", settings.warehouse, "--user", CID, "--keep-later"]) == 0
        assert "counted again" in capsys.readouterr().out
        assert rows(warehouse, "erased_users") == []
        wait_for(lambda: is_counted(topic, CID), PATIENCE_S, "an event to be counted again")
        assert is_at_work()
    assert_conserved(warehouse)


def newest(warehouse: Path) -> dict[str, int]:
    return max(rows(warehouse, "ledger"), key=lambda row: row["batch"])


def is_counted(topic: ReadTopic, user: str) -> bool:
    """Whether an event of the user that is sent now is counted."""
    topic.tell(event(user, 46_000))
    return bool(persons_rows(topic.settings, user))
