"""Whatever bytes are on the topic: each bad record is a dead letter with its reason, and the good ones are counted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import settings_of
from tests.support.topic_writer import Raw, event, send, value_of
from tests.support.warehouse import page_views, rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.event_time.checks import DETAILS, Check
from tidemark.producers.encode import encode_one, header
from tidemark.schemas import load_schemas

NOW = 1_790_820_000_000
SKEW_MS = 300_000
OLD = NOW - 11 * 365 * 86_400_000
LONG_MAX, LONG_MIN = 2**63 - 1, -(2**63)
YEAR_9999 = 253_402_300_799_999
GIGABYTE = bytes.fromhex("8080808008")
"""2**30 as an Avro long."""


class Bad(NamedTuple):
    """A bad record and what must become of it; event time and user are those that could still be read."""

    name: str
    value: bytes | None
    reason: str
    check: Check
    event_time: int | None = None
    user: str | None = None


def malformed(name: str, value: bytes | None, check: Check) -> Bad:
    return Bad(name, value, "malformed", check)


def no_time(name: str, event_time: int) -> Bad:
    return Bad(name, raw_event("eve", event_time), "malformed", Check.EVENT_TIME, event_time, "eve")


def future(name: str, event_time: int) -> Bad:
    return Bad(name, raw_event("eve", event_time), "future", Check.FUTURE, event_time, "eve")


def raw_event(user: str, event_time: int) -> bytes:
    """An event whose time no date type could hold: the field is written as the plain long that it is."""
    plain = [{**field, "type": "long"} if field["name"] == "event_time" else field for field in _contract()["fields"]]
    text = json.dumps({**_contract(), "fields": plain})
    return encode_one(_fields(user, event_time), 1, text)


def newer_event(user: str, act: str) -> bytes:
    """Written by schema 2."""
    return encode_one({**_fields(user, NOW), "event_type": act, "tenant": "t"}, 2, json.dumps(newer_contract()))


def newer_contract() -> dict[str, Any]:
    """Schema 2: a field and an event type that version 1 has never heard of."""
    contract = _contract()
    contract["fields"].insert(0, {"name": "tenant", "type": "string", "default": "none"})
    act = next(field for field in contract["fields"] if field["name"] == "event_type")
    act["type"]["symbols"].append("purchase")
    return contract


def _contract() -> dict[str, Any]:
    contract: dict[str, Any] = json.loads(load_schemas()[1])
    return contract


def _fields(user: str, event_time: int) -> dict[str, object]:
    return {"event_id": "e", "event_type": "visit", "user_id": user, "event_time": event_time, "page_url": "/"}


GOOD = value_of("ann", NOW)
# event_id "e" is two bytes, and the enum's index is the next.
UNKNOWN_INDEX = GOOD[:7] + b"\x0e" + GOOD[8:]
BAD = [
    malformed("null value", None, Check.EMPTY_VALUE),
    malformed("empty value", b"", Check.EMPTY_VALUE),
    malformed("wrong magic byte", b"\x01" + GOOD[1:], Check.MAGIC_BYTE),
    malformed("shorter than a frame", GOOD[:4], Check.MAGIC_BYTE),
    malformed("one byte", b"\x00", Check.MAGIC_BYTE),
    malformed("not Avro at all", b'{"user_id": "ann"}', Check.MAGIC_BYTE),
    malformed("unknown schema id", header(77) + GOOD[5:], Check.SCHEMA_ID),
    malformed("negative schema id", b"\x00\xff\xff\xff\xff" + GOOD[5:], Check.SCHEMA_ID),
    malformed("a frame and nothing else", header(1), Check.AVRO),
    malformed("truncated in a string", GOOD[:6], Check.AVRO),
    malformed("truncated before the time", GOOD[:10], Check.AVRO),
    malformed("an event id of a gigabyte", header(1) + GIGABYTE + GOOD[6:], Check.AVRO),
    malformed("a user id of a gigabyte", GOOD[:8] + GIGABYTE + GOOD[9:], Check.AVRO),
    malformed("a string of negative length", header(1) + b"\x03" + GOOD[6:], Check.AVRO),
    malformed("an enum index that no symbol has", UNKNOWN_INDEX, Check.AVRO),
    Bad("unknown event type", newer_event("eve", "purchase"), "malformed", Check.EVENT_TYPE, NOW, "eve"),
    Bad("empty user id", value_of("", NOW), "malformed", Check.USER_ID, NOW, ""),
    no_time("event time 0", 0),
    no_time("event time -1", -1),
    no_time("event time Long.MIN_VALUE", LONG_MIN),
    no_time("event time Long.MAX_VALUE", LONG_MAX),
    no_time("event time in the year 10000", YEAR_9999 + 1),
    Bad("event time in seconds", raw_event("eve", NOW // 1000), "malformed", Check.AGE, NOW // 1000, "eve"),
    Bad("event time of eleven years ago", raw_event("eve", OLD), "malformed", Check.AGE, OLD, "eve"),
    future("event time in the year 9999", YEAR_9999),
    future("event time just beyond the skew", NOW + SKEW_MS + 1),
]


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    """A folder with the contract and a newer version of it."""
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "user_event.avsc").write_text(load_schemas()[1])
    (folder / "user_event.2.avsc").write_text(json.dumps(newer_contract()))
    return folder


@pytest.mark.core
def test_each_bad_record_is_a_dead_letter_with_its_reason_and_bytes_and_the_good_ones_are_counted(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, schemas: Path
) -> None:
    topic, warehouse = make_topic(partitions=1), tmp_path / "warehouse"
    good = [event("ann", NOW), event("ann", NOW + SKEW_MS, "click", timestamp_ms=NOW)]
    newer = [Raw(newer_event("ann", "visit"), b"ann", timestamp_ms=NOW)]
    bad = [Raw(each.value, each.name.encode(), timestamp_ms=NOW) for each in BAD]
    send(broker.bootstrap_servers, topic, [good[0], *bad, good[1], *newer])
    settings = settings_of(broker, topic, warehouse, schemas={"folder": schemas}, time={"max_age": "3650d"})
    with open_service(settings) as service:
        service.drain()
    found = {row["key"].decode(): row for row in rows(warehouse, "dead_letters")}
    for each in BAD:
        row = found.pop(each.name)
        told = (row["reason"], row["detail"], row["value"], row["event_time"], row["user_id"])
        assert told == (each.reason, DETAILS[each.check], each.value, each.event_time, each.user), each.name
        assert (row["topic"], row["kafka_timestamp"], row["watermark"]) == (topic, NOW, None), each.name
    assert not found
    # Only the good ones moved the watermark.
    balance = assert_conserved(warehouse)
    assert (balance.counted, balance.watermark) == (3, NOW + SKEW_MS - 10_000)
    assert page_views(warehouse) == {("ann", NOW, NOW + 60_000): (2, 0, 0)}


def test_a_bad_key_does_no_harm_and_is_kept(broker: Cluster, make_topic: Callable[..., str], tmp_path: Path) -> None:
    topic, keys = make_topic(), [None, b"", b"\xff\xfe", b"x" * 1000]
    good = [Raw(GOOD, key, timestamp_ms=NOW) for key in keys]
    bad = [Raw(b"?", key, timestamp_ms=NOW) for key in keys]
    send(broker.bootstrap_servers, topic, [*good, *bad])
    with open_service(settings_of(broker, topic, tmp_path)) as service:
        service.drain()
    assert assert_conserved(tmp_path).counted == len(keys)
    assert [row["key"] for row in sorted(rows(tmp_path, "dead_letters"), key=lambda row: row["offset"])] == keys


def test_the_bad_records_are_cut_where_their_names_say() -> None:
    assert GOOD[:12] == header(1) + b"\x02e" + b"\x00" + b"\x06ann"
    assert len({each.name for each in BAD}) == len(BAD)
