"""Judged by arrival, warehouses of any cut stay equal when rejected events are added, and with erased users.

One is read as a whole by the driver, one in a random cut with all jobs of executors.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from tests.arrival.test_any_cut import bags, raw, take
from tests.event_time.arrival_rule import Record, Topic
from tests.event_time.test_arrival import random_cuts, random_topic
from tests.support import warehouse as tables
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED
from tests.support.services import ANY_TIMESTAMP, settings_of
from tests.support.topic_writer import send
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.erased_users import remember

pytestmark = pytest.mark.broker

_ERASED: Final = "b"
_SPARK: Final[Mapping[str, Any]] = {
    "whole": {"conf": BRIEF_DRIVER},
    "cut": {"conf": BRIEF_DRIVER, "large": "executors", "large_from": 1},
}
_TIME: Final[Mapping[str, Any]] = {
    "judged": "arrival",
    "bound": "500ms",
    "allowed_lateness": "0s",
    "idle_timeout": "2s",
    "max_future_skew": "400ms",
}
_REPORTS: Final[Mapping[str, Any]] = {
    "sliding": {"window": {"size": "4s", "slide": "2s"}, "keys": ["user_id"]},
    "visits": {"window": {"gap": "1500ms"}, "keys": ["user_id"]},
    "all": {"window": {"size": "10s"}, "keys": []},
}


def test_rejected_events_are_added_alike_whatever_the_cut_and_the_engine(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    chance = Random(SEED)
    records = with_every_verdict([random_topic(chance)[0] for _ in range(2)])
    name = make_topic(len(records), **ANY_TIMESTAMP)
    for partition, part in enumerate(records):
        send(broker.bootstrap_servers, name, [raw(each, partition, index) for index, each in enumerate(part)])
    settings = dict[str, Settings]()
    for place, cuts in {"whole": [], "cut": random_cuts(chance, records)[:3]}.items():
        how: dict[str, Any] = {"time": _TIME, "reports": _REPORTS, "totals": {"gap": "5s", "every": "1m"}}
        settings[place] = settings_of(broker, name, tmp_path / place, spark=_SPARK[place], **how)
        remember(settings[place].warehouse, _ERASED)
        take(settings[place], records, cuts, chance)
        assert_conserved(tmp_path / place)
    assert_equal(tmp_path)
    reasons = {row["reason"] for row in tables.rows(tmp_path / "whole", "dead_letters")}
    assert {"too_late", "partly_late", "future", "erased"} <= reasons
    for place, own in settings.items():
        assert apply_corrections(own, LetterSelection()).rows
        patient = own.model_copy(update={"time": own.time.model_copy(update={"max_future_skew": timedelta(hours=2)})})
        assert apply_corrections(patient, LetterSelection(reasons=("future",), is_judged_again=True)).rows
        assert not apply_corrections(own, LetterSelection()).rows
        assert_conserved(tmp_path / place)
    assert_equal(tmp_path)
    events = sum(each.is_event and "ab"[index % 2] != _ERASED for part in records for index, each in enumerate(part))
    assert sum(row["page_views"] for row in tables.rows(tmp_path / "cut", "all")) == events


def assert_equal(folder: Path) -> None:
    names = [*_REPORTS, "user_totals"]
    assert bags(folder / "cut", names) == bags(folder / "whole", names)


def with_every_verdict(topic: Topic) -> Topic:
    """Appends records that are counted, too late, partly late and from the future, each of both users.

    W is 19.5 s after the last record when the late ones arrive. The third is in a session that ended half a second
    before, and in a window that is open.
    """
    last = max((record.kafka_timestamp for own in topic for record in own), default=30_000)
    added = [
        Record(last + 20_000, last + 20_000),
        Record(last + 21_000, last - 20_000),
        Record(last + 21_000, last + 17_500),
        Record(last + 21_000, last + 21_000, moves=False),
    ]
    return [[*own, *(record for record in added for _ in range(2))] for own in topic]
