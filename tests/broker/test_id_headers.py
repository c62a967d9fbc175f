"""Records whose headers name their schema: by Confluent's GUID, or by an id of Apicurio's."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.schema_registry import header_schema_id_serializer
from confluent_kafka.schema_registry.common.serde import SchemaId
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.support.conservation import assert_conserved
from tests.support.imitated_registry import imitated_registry, subject
from tests.support.kafka_cluster import Cluster
from tests.support.services import settings_of
from tests.support.topic_writer import Raw, send
from tests.support.warehouse import rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.settings.model import Settings
from tidemark.producers.encode import encode_one
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import CONTENT_ID_HEADER, GLOBAL_ID_HEADER, GUID_HEADER

pytestmark = pytest.mark.broker

NOW = 1_790_820_000_000
GUID = UUID("6f3f4a4e-3a30-4e8d-9d0f-7c6a1d2e3f40")
OURS = load_schemas()[1]
MakeTopic = Callable[..., str]


def newer() -> str:
    """Our contract with a number first, so that it cannot be read by the other schema."""
    contract: dict[str, Any] = json.loads(OURS)
    return json.dumps({**contract, "fields": [{"name": "score", "type": "long"}, *contract["fields"]]})


def event(user: str, schema: str, headers: Mapping[str, bytes | None], frame: bytes = b"") -> Raw:
    """An event without a frame, unless one is given, and with headers."""
    fields = {"event_id": "e", "event_type": "visit", "user_id": user, "event_time": NOW, "page_url": "/", "score": 7}
    return Raw(frame + encode_one(fields, 1, schema)[5:], timestamp_ms=NOW, headers=headers)


def guid_header() -> dict[str, bytes]:
    """Returns the header that Confluent's serializer writes."""
    headers: dict[str, Any] = {}
    context = SerializationContext("topic", MessageField.VALUE, headers)
    header_schema_id_serializer(b"", context, SchemaId("AVRO", 7, str(GUID)))
    return headers


def users(warehouse: Path) -> set[str]:
    return {row["user_id"] for row in rows(warehouse, "panes")} - {None}


def drain(settings: Settings) -> None:
    with open_service(settings) as service:
        service.drain()


def test_headers_name_the_schemas_of_a_folder(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic, warehouse = make_topic(partitions=1), tmp_path / "warehouse"
    (tmp_path / "user_event.7.avsc").write_text(OURS)
    (tmp_path / f"user_event.{GUID}.avsc").write_text(newer())
    seven, eight = (number.to_bytes(8, "big") for number in (7, 8))
    good: dict[str, tuple[str, Mapping[str, bytes | None], bytes]] = {
        "GUID": (newer(), guid_header(), b""),
        "GUID in the value": (newer(), {}, b"\1" + GUID.bytes),
        "id in Confluent's header": (OURS, {GUID_HEADER: b"\0" + seven[4:]}, b""),
        "content id": (OURS, {CONTENT_ID_HEADER: seven, "other": b"x"}, b""),
        "global id": (OURS, {GLOBAL_ID_HEADER: seven}, b""),
        "id in the value": (OURS, {GLOBAL_ID_HEADER: None}, b"\0" + seven[4:]),
    }
    wrong: list[Mapping[str, bytes | None]] = [
        {GLOBAL_ID_HEADER: eight},
        {GLOBAL_ID_HEADER: b"\1" + seven[1:]},
        {GUID_HEADER: b"\1" + bytes(16)},
        {GUID_HEADER: GUID.bytes},
        {GUID_HEADER: b""},
    ]
    sent = [event(user, *more) for user, more in good.items()]
    sent += [event("nobody", OURS, headers) for headers in wrong]
    # If a header is no id, the first bytes of the value are not taken for one.
    sent.append(event("nobody", OURS, {GLOBAL_ID_HEADER: b"?"}, b"\0" + seven[4:]))
    sent.append(Raw(None, timestamp_ms=NOW, headers={GLOBAL_ID_HEADER: seven}))
    send(broker.bootstrap_servers, topic, sent)
    drain(settings_of(broker, topic, warehouse, schemas={"folder": tmp_path}))
    assert users(warehouse) == good.keys()
    letters = [row["detail"] for row in rows(warehouse, "dead_letters")]
    assert sorted(letters) == ["no schema has this schema id"] * (len(wrong) + 1) + ["the value is empty (a tombstone)"]
    assert assert_conserved(warehouse).counted == len(good)


@pytest.mark.parametrize("has_schema", [True, False])
def test_the_schema_of_a_guid_is_requested_from_the_registry(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path, *, has_schema: bool
) -> None:
    topic, warehouse = make_topic(partitions=1), tmp_path / "warehouse"
    send(broker.bootstrap_servers, topic, [event("ann", newer(), guid_header())])
    answers = subject(f"{topic}-value", {1: {"id": 1, "schema": OURS}})
    path, requests = f"/schemas/guids/{GUID}", list[str]()
    answers |= {path: {"schema": newer(), "guid": str(GUID)}} if has_schema else {}
    with imitated_registry(answers, requests) as url:
        settings = settings_of(broker, topic, warehouse, schemas={"registry": {"url": url}})
        drain(settings)
        assert path in requests
    assert users(warehouse) == ({"ann"} if has_schema else set())
    if has_schema:  # the stored schema is used without a registry
        send(broker.bootstrap_servers, topic, [event("bob", newer(), guid_header())])
        drain(settings)
        assert users(warehouse) == {"ann", "bob"}
        assert str(GUID) in {row["schema_id"] for row in rows(warehouse, "event_schemas")}
