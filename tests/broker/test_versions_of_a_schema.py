"""A contract that changes by Avro's rules: events of every version count, whatever was written when."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import settings_of
from tests.support.topic_writer import Raw, send
from tests.support.warehouse import rows
from tidemark.pipeline.app import open_service
from tidemark.producers.encode import encode_one
from tidemark.schemas import load_schemas

pytestmark = pytest.mark.broker

NOW = 1_790_820_000_000
PLAIN = {"event_id": "e", "event_type": "visit", "event_time": NOW}
AGED = {"name": "score", "type": "int", "default": 0}


def contract(without: str = "", **renamed: str) -> dict[str, Any]:
    """Our own, less a field, with others renamed by the rules."""
    ours: dict[str, Any] = json.loads(load_schemas()[1])
    ours["fields"] = [
        {**field, "name": renamed[field["name"]], "aliases": [field["name"]]} if field["name"] in renamed else field
        for field in ours["fields"]
        if field["name"] != without
    ]
    return ours


def with_field(schema: dict[str, Any], field: dict[str, Any]) -> dict[str, Any]:
    """A schema with one more field, in front of all others."""
    return {**schema, "fields": [field, *schema["fields"]]}


VERSIONS = {
    1: contract(),
    2: with_field(contract(), AGED),
    3: contract(without="referrer"),
    4: with_field(contract(), {**AGED, "type": "long"}),
    5: contract(user_id="visitor", page_url="url"),
    6: contract(without="page_url"),
}
EVENTS = {
    1: {**PLAIN, "user_id": "first", "page_url": "/a"},
    2: {**PLAIN, "user_id": "added", "page_url": "/a", "score": 7},
    3: {**PLAIN, "user_id": "removed", "page_url": "/a"},
    4: {**PLAIN, "user_id": "widened", "page_url": "/a", "score": 2**40},
    5: {**PLAIN, "visitor": "renamed", "url": "/b"},
    6: {**PLAIN, "user_id": "pageless"},
}


def test_every_version_goes_from_event_to_table(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, folder, warehouse = make_topic(), tmp_path / "schemas", tmp_path / "warehouse"
    folder.mkdir()
    for number, schema in VERSIONS.items():
        (folder / f"user_event.{number}.avsc").write_text(json.dumps(schema))
    values = [encode_one(EVENTS[number], number, json.dumps(schema)) for number, schema in VERSIONS.items()]
    send(broker.bootstrap_servers, topic, [Raw(value, timestamp_ms=NOW) for value in values])
    reports = {
        "page_views": {"keys": ["user_id"]},
        "page_traffic": {"keys": ["page_url"]},
        "scores": {"keys": ["user_id"], "where": "score > 5"},
    }
    with open_service(
        settings_of(broker, topic, warehouse, schemas={"folder": folder}, reports=reports, time={"bound": "0s"})
    ) as service:
        service.drain()
        send(broker.bootstrap_servers, topic, [Raw(later(), timestamp_ms=NOW + 120_000)])
        service.drain()
    assert_conserved(warehouse)
    assert {row["user_id"] for row in rows(warehouse, "page_views")} == {
        "first", "added", "removed", "widened", "renamed", "pageless",
    }  # fmt: skip
    pages = {row["page_url"]: row["page_views"] for row in rows(warehouse, "page_traffic")}
    assert pages == {"/a": 4, "/b": 1, None: 1}
    assert {row["user_id"] for row in rows(warehouse, "scores")} == {"added", "widened"}
    assert rows(warehouse, "dead_letters") == []


def later() -> bytes:
    """An event two minutes on, by which the windows of the others fire."""
    return encode_one({**EVENTS[1], "event_time": NOW + 120_000}, 1, json.dumps(VERSIONS[1]))
