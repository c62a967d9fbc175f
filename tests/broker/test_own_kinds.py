"""Events of a kind that is neither a visit nor a click: late ones, corrections, totals and an erasure."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.broker.test_foreign_schema import ID, MAPPING, NOW, SHOP, action, written
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of, take
from tests.support.topic_writer import Raw
from tests.support.warehouse import rows, user_totals
from tidemark.pipeline.amend.correction_run import correct
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.amend.late_corrections import LetterSelection
from tidemark.pipeline.app import open_service

pytestmark = pytest.mark.broker

SECTIONS: Final[dict[str, Any]] = {
    "time": {"bound": "0s", "allowed_lateness": "5s", "idle_timeout": "1h", "max_future_skew": "1h"},
    "window": {"size": "10s"},
    "reports": {
        "acts": {"keys": ["event_type"], "measures": ["events", "page_views", "clicks"]},
        "users": {"keys": ["user_id"], "measures": ["events"], "where": "event_type = 'scroll'"},
        "sessions": {"keys": ["user_id"], "measures": ["clicks", "events"], "window": {"gap": "5s"}},
    },
    "totals": {"gap": "5s", "every": "10s"},
}
KINDS: Final = {"view": "visit", "tap": "click", "scroll": "scroll"}
#   seconds  1  2  3   4    5    12  30  50      windows of 10 s; * comes late, + after [0, 10) has closed
#   scrolls     7      8*  9+    8
STEPS: Final = (
    [(7, 1, "view"), (7, 2, "scroll"), (8, 3, "tap")],
    [(8, 12, "scroll")],
    [(8, 4, "scroll")],
    [(7, 30, "view")],
    [(9, 5, "scroll")],
    [(7, 50, "view")],
)
ACTS: Final = {
    ("visit", 0): [1, 1, 0],
    ("scroll", 0): [3, 0, 0],
    ("click", 0): [1, 0, 1],
    ("scroll", 10): [1, 0, 0],
    ("visit", 30): [1, 1, 0],
}
"""Kind and start -> events, page views, clicks."""


def test_they_are_counted_late_corrected_and_erased(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, warehouse, folder = make_topic(**ANY_TIMESTAMP), tmp_path / "warehouse", tmp_path / "schemas"
    folder.mkdir()
    (folder / f"action.{ID}.avsc").write_text(json.dumps(SHOP))
    mapping = {**MAPPING, "kinds": KINDS}
    settings = settings_of(broker, topic, warehouse, schemas={"folder": folder, "mapping": mapping}, **SECTIONS)
    sent = [
        [Raw(written(action(user, NOW + 1_000 * at, act)), timestamp_ms=NOW + 1_000 * at) for user, at, act in step]
        for step in STEPS
    ]
    with open_service(settings, now=Clock(NOW)) as service:
        take(service, broker, topic, sent)
    assert_conserved(warehouse)
    correct(settings, LetterSelection(), dry_run=False)
    assert re.search(r"acts\W.*\W0\W+0\W+1\W", capsys.readouterr().out), "an event, no page view and no click"
    with open_service(settings, now=Clock(NOW)) as service:
        service.drain()
    assert_conserved(warehouse)
    assert {
        (row["event_type"], row["window_start"].second): [row[name] for name in ("events", "page_views", "clicks")]
        for row in rows(warehouse, "acts")
    } == ACTS
    users = {(row["user_id"], row["events"], row["late_events"]) for row in rows(warehouse, "users")}
    assert users == {("7", 1, 0), ("8", 1, 0), ("8", 1, 1), ("9", 1, 1)}
    assert user_totals(warehouse)["9"] == (NOW + 5_000, NOW + 5_000, 1, 0, 0)
    erase_person(settings, "8", timedelta(0))
    assert_conserved(warehouse)
    assert {row["events"] for row in rows(warehouse, "erasures") if row["table"] == "sessions"} == {3}
