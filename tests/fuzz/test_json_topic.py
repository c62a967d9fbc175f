"""Broken JSON on a topic: the real service counts or rejects each record by its bytes alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fuzz.bulk import Bulk
from tests.fuzz.compare import Sent, assert_outcomes
from tests.fuzz.json_oracle import NOT_UTF8, NotJson, event_of, id_of, millis_of, text_of
from tests.fuzz.json_seeds import at_the_bounds
from tests.fuzz.mutate_json import json_mutants
from tests.fuzz.oracle import Outcome
from tests.fuzz.seeds import NOW, USERS
from tests.support.judge import judge
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED
from tests.support.services import settings_of
from tidemark.pipeline.app import open_service
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.policy import Policy, Verdict

pytestmark = pytest.mark.broker

COUNT: Final = 3_000
COUNT_BY_NIGHT: Final = 10_000
LARGEST: Final = 900_000
KEYS: Final = (b"ann", None, b"", b"\xff\xfe")
VERDICTS: Final = {Verdict.COUNTED: Check.PASSED, Verdict.FUTURE: Check.FUTURE}


def events() -> list[bytes]:
    """Returns events with the names of our own contract."""
    fields: list[dict[str, Any]] = [
        {"event_type": act, "user_id": user, "event_time": NOW + number, "page_url": f"/{user}"}
        for number, user in enumerate((*USERS, 7))
        for act in ("visit", "click")
    ]
    return [json.dumps(event, ensure_ascii=number % 2 == 0).encode() for number, event in enumerate(fields)]


def outcome(value: bytes | None, policy: Policy) -> Outcome:
    """Returns the check that a record fails, and what can be read of it, by Python's parser."""
    if not value:
        return Outcome(Check.EMPTY_VALUE)
    try:
        event = event_of(value)
    except NotJson:
        return Outcome(Check.JSON)
    fields = event if isinstance(event, dict) else {}
    time = millis_of(fields.get("event_time"), 0)
    user, page = id_of(fields.get("user_id")) or b"", id_of(fields.get("page_url"))
    name = None if user == NOT_UTF8 else user.decode()
    if NOT_UTF8 in (user, page):
        return Outcome(Check.TEXT, time, name)
    if text_of(fields.get("event_type")) not in (b"visit", b"click"):
        return Outcome(Check.EVENT_TYPE, time, name)
    if not user:
        return Outcome(Check.USER_ID, time, name)
    judged = Check.NO_TIME if time is None else VERDICTS.get(judge(time, NOW, None, policy), Check.EVENT_TIME)
    return Outcome(judged, time, name)


@pytest.mark.parametrize(
    "count", [COUNT, pytest.param(COUNT_BY_NIGHT, marks=pytest.mark.nightly)], ids=["sample", "many"]
)
def test_each_record_is_judged_by_its_bytes(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, count: int
) -> None:
    topic = make_topic(partitions=1)
    settings = settings_of(
        broker,
        topic,
        tmp_path,
        time={"bound": "36500d", "max_age": "off"},
        schemas={"format": "json", "mapping": {"time_unit": "ms"}},
        dead_letters={"limit": 1},
    )
    values: list[bytes | None] = [None, *(value for value in at_the_bounds() if len(value) < LARGEST)]
    values += json_mutants(events(), count, SEED)
    keys = [KEYS[number % len(KEYS)] for number in range(len(values))]
    Bulk(broker.bootstrap_servers, topic, 1, NOW).send(values, keys)
    with open_service(settings) as service:
        service.drain()
    policy = settings.policy()
    sent = {
        (0, n): Sent(value, key, outcome(value, policy))
        for n, (value, key) in enumerate(zip(values, keys, strict=True))
    }
    assert_outcomes(tmp_path, sent)
