"""Schemas from a registry: a new id is asked for once and kept, and the registry may be away."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from demo.children import free_port
from tests.support.conservation import assert_conserved
from tests.support.imitated_registry import imitated_registry, subject
from tests.support.kafka_cluster import Cluster
from tests.support.schema_registry import SchemaRegistry, schema_registry
from tests.support.seeds import in_turn
from tests.support.services import settings_of
from tests.support.topic_writer import Raw, send
from tests.support.warehouse import rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.commands.preflight.record_checks import check_records
from tidemark.pipeline.decoding.wire_format import id_bytes
from tidemark.pipeline.errors import SetUpError, Unreachable
from tidemark.pipeline.kafka.registry import Registry, Unusable
from tidemark.pipeline.kafka.topic import connect
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.schema_settings import RegistrySettings
from tidemark.producers.encode import encode_one
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import CONTENT_ID_HEADER
from tidemark.schemas.references import with_types

NOW = 1_790_820_000_000
OURS = load_schemas()[1]
NOT_AN_EVENT = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "total", "type": "long"}]})
OTHERS = {
    "orders": NOT_AN_EVENT,
    "words": '"string"',
    "retyped": OURS.replace('{"name": "page_url", "type": "string"', '{"name": "page_url", "type": "int"'),
    "colours": json.dumps({"type": "enum", "name": "Colour", "symbols": ["red"]}),
}
"""Schemas of what is no event, also of what is no record."""
CONDITION = {"few": {"keys": ["user_id"], "where": "page_url <> '/none'"}}
"""A report that needs a field of which a schema in `OTHERS` has another type."""
NOT_AVRO = {
    "JSON": '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}',
    "PROTOBUF": 'syntax = "proto3"; message Click { string user = 1; }',
}
NOWHERE = 4711
SITE = json.dumps(
    {"type": "record", "name": "Site", "namespace": "io.tidemark", "fields": [{"name": "host", "type": "string"}]}
)


def with_field(name: str, kind: Any, **default: Any) -> str:
    """Our contract with one field more."""
    contract: dict[str, Any] = json.loads(OURS)
    return json.dumps({**contract, "fields": [*contract["fields"], {"name": name, "type": kind, **default}]})


OF_A_SITE = with_field("site", "io.tidemark.Site")


def newer(name: str) -> str:
    """Our contract with a number more."""
    return with_field(name, "int", default=0)


def record(user: str, number: int, schema: str = OURS, at: int = NOW, **more: Any) -> Raw:
    """An event by a schema, whatever it has in other fields."""
    event = {"event_id": "e", "event_type": "visit", "user_id": user, "event_time": at, "page_url": "/", **more}
    return Raw(encode_one(event, number, schema), timestamp_ms=at)


def with_long_id(short: Raw) -> Raw:
    """Returns the event with an id of eight bytes."""
    assert short.value is not None
    return replace(short, value=b"\0" * 5 + short.value[1:])


def with_id_in_header(short: Raw) -> Raw:
    """Returns the event as Apicurio's serializer writes it if ids are in headers."""
    assert short.value is not None
    return replace(short, value=short.value[5:], headers={CONTENT_ID_HEADER: bytes(4) + short.value[1:5]})


def assert_warned(logs: Sequence[Mapping[str, Any]], others: Sequence[int], details: Sequence[str]) -> None:
    """Each schema that is no event has a dead letter with the reason of a warning; an unknown id has no warning."""
    reasons = {int(line["id"]): line["reason"] for line in logs if line["event"] == "schema_unusable"}
    assert reasons.keys() == set(others)
    with_reason = [f"its schema cannot be used: {reason}" for reason in reasons.values()]
    assert details == sorted([*with_reason, "no schema has this schema id"])
    assert [reasons[schema_id].split()[2].strip(",") for schema_id in others[-2:]] == ["JSON", "PROTOBUF"]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[SchemaRegistry]:
    with schema_registry(tmp_path) as registry:
        yield registry


def counted(warehouse: Path) -> int:
    """How many events the ledger has counted."""
    return assert_conserved(warehouse).counted


def details(warehouse: Path) -> list[str]:
    return sorted(row["detail"] for row in rows(warehouse, "dead_letters"))


def stored_schema_ids(warehouse: Path) -> set[str]:
    return {row["schema_id"] for row in rows(warehouse, "event_schemas")}


def settings(broker: Cluster, topic: str, warehouse: Path, url: str, **more: Any) -> Settings:
    return settings_of(broker, topic, warehouse, schemas={"registry": {"url": url, **more}}, reports=CONDITION)


@in_turn(1, 2)
def test_a_schema_that_comes_while_the_service_is_at_work_is_found_once_and_kept_where_the_registry_is_away(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, registry: SchemaRegistry
) -> None:
    topic, warehouse = make_topic(), tmp_path / "warehouse"
    first = registry.register(f"{topic}-value", OURS)
    with open_service(settings(broker, topic, warehouse, registry.url)) as service:
        send(broker.bootstrap_servers, topic, [record("ann", first)])
        service.drain()
        assert (counted(warehouse), stored_schema_ids(warehouse)) == (1, {str(first)})

        second = registry.register("another-subject", newer("score"))
        others = [registry.register(f"{name}-value", text) for name, text in OTHERS.items()]
        others += [registry.register(f"{kind}-value", text, kind) for kind, text in NOT_AVRO.items()]
        registry.register("sites-value", SITE)
        site = registry.register("another-subject", OF_A_SITE, refers_to={"io.tidemark.Site": "sites-value"})
        values = [
            with_id_in_header(record("bob", second, newer("score"))),
            record("ann", first),
            record("nobody", NOWHERE),
            record("eve", site, with_types(OF_A_SITE, [SITE]), site={"host": "a"}),
            *(Raw(b"\0" + schema_id.to_bytes(4, "big") + b"\x02a", timestamp_ms=NOW) for schema_id in others),
        ]
        send(broker.bootstrap_servers, topic, values)
        with capture_logs() as logs:
            service.drain()
        assert (counted(warehouse), stored_schema_ids(warehouse)) == (4, {*map(str, (first, second, site))})
        assert_warned(logs, others, details(warehouse))
    away = f"http://127.0.0.1:{free_port()}"  # an address without a server; the stored schemas are used
    with open_service(settings(broker, topic, warehouse, away)) as service:
        send(broker.bootstrap_servers, topic, [record("cid", second, newer("score"))])
        service.drain()
        assert counted(warehouse) == 5
        third = registry.register("another-subject", newer("level"))
        send(broker.bootstrap_servers, topic, [with_long_id(record("dan", third, newer("level")))])
        # Nobody knows yet what it is: it waits, and is no dead letter.
        with pytest.raises(Unreachable, match=f"the registry {away}: "):
            service.drain()
    with open_service(settings(broker, topic, warehouse, registry.url, ids="auto")) as service:
        service.drain()
        assert (counted(warehouse), len(details(warehouse))) == (6, 7)


UNREADABLE = {
    "no JSON": (b"<html>", "the registry's answer cannot be read: Invalid JSON"),
    "no object": ([], "the registry's answer cannot be read: "),
    "no text": ({"schema": json.loads(OURS)}, "the registry's answer cannot be read: schema."),
    "nested": (b"[" * 100_000, "the registry's answer cannot be read: "),
    "no Avro": ({"schema": "{"}, ""),
    "forbidden": ((403, {"error_code": 40301, "message": "not yours"}), "the registry answers HTTP 403: not yours"),
    "without words": ((422, b""), "the registry answers HTTP 422: Unprocessable Entity"),
    "a lost type": ({"schema": OF_A_SITE, "references": [{"name": "s", "subject": "none", "version": 1}]}, ""),
    "a type without text": (
        {"schema": OF_A_SITE, "references": [{"name": "s", "subject": "odd", "version": 1}]},
        "a type that it refers to cannot be read: the registry's answer cannot be read: schema.",
    ),
}
"""Answers about an id that the same request would get again, and how the reason begins."""


def test_an_answer_that_no_retry_mends_makes_dead_letters_with_the_reason_and_holds_nothing_up(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, warehouse, clock = make_topic(partitions=1), tmp_path / "warehouse", [NOW]
    metadata = {"tags": {"user_id": ["PII"]}, "properties": {"owner": "web"}, "sensitive": None}
    contract = {"schema": OURS, "metadata": metadata, "ruleSet": {"domainRules": [{"params": {"a": ["b"]}}]}}
    answers = subject(f"{topic}-value", {1: {"id": 1, **contract}, 2: {"id": 3, "schema": 7}}) | subject("odd", {1: {}})
    answers["/schemas/ids/2"] = contract
    bad = {schema_id: answer for schema_id, (answer, _) in enumerate(UNREADABLE.values(), 10)}
    answers |= {f"/schemas/ids/{schema_id}": answer for schema_id, answer in bad.items()}
    with (
        imitated_registry(answers) as url,
        capture_logs() as logs,
        open_service(used := settings(broker, topic, warehouse, url), now=lambda: clock[0]) as service,
    ):
        send(broker.bootstrap_servers, topic, [record("eve", schema_id) for schema_id in (*bad, 2, 1)])
        service.drain()
        # The ids are requested again later, and have the same answers.
        clock[0] += 600_000
        send(broker.bootstrap_servers, topic, [record("eve", 10)])
        service.drain()
        assert counted(warehouse) == 2
        warned = [*logs]
        (checked,) = check_records(used, connect(used.kafka), lambda: NOW)
    assert "no schema has this schema id, or it cannot be used (10: the registry's answer cannot" in checked.message
    (of_subject, *lines) = [line for line in warned if line["event"] == "schema_unusable"]
    assert of_subject["reason"].startswith("the registry's answer cannot be read: schema.")
    assert sorted(line["id"] for line in lines) == sorted(map(str, bad))
    reasons = [line["reason"] for line in sorted(lines, key=lambda line: int(line["id"]))]
    for reason, (_, start) in zip(reasons, UNREADABLE.values(), strict=True):
        assert reason.startswith(start)
    assert details(warehouse) == sorted(f"its schema cannot be used: {reason}" for reason in [*reasons, reasons[0]])


def test_ids_and_references_are_of_the_context_of_the_subject(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, warehouse = make_topic(partitions=1), tmp_path / "warehouse"
    name = f":.prod:{topic}-value"
    exchanged = OURS.replace('"user_id"', '"?"').replace('"event_id"', '"user_id"').replace('"?"', '"event_id"')
    references = [{"name": "io.tidemark.Site", "subject": "sites-value", "version": 1}]
    answers = subject(name, {1: {"id": 1, "schema": OURS}}) | {
        "/schemas/ids/2": {"schema": exchanged},
        f"/schemas/ids/2?subject={name}": {"schema": OURS},
        f"/schemas/ids/3?subject={name}": {"schema": OF_A_SITE, "references": references},
        **subject("sites-value", {1: {"schema": SITE.replace("host", "other")}}),
        **subject(":.prod:sites-value", {1: {"schema": SITE}}),
    }
    values = [record("ann", 1), record("bob", 2), record("eve", 3, with_types(OF_A_SITE, [SITE]), site={"host": "a"})]
    send(broker.bootstrap_servers, topic, values)
    with (
        imitated_registry(answers) as url,
        open_service(settings(broker, topic, warehouse, url, subject=name)) as service,
    ):
        service.drain()
    assert {row["user_id"] for row in rows(warehouse, "panes")} - {None} == {"ann", "bob", "eve"}
    stored = {row["schema_id"]: row["avro"] for row in rows(warehouse, "event_schemas")}
    assert '"other"' not in stored["3"]


@pytest.mark.parametrize("status", [401, 407, 408, 429, 500, 502, 503])
@pytest.mark.slow
def test_an_answer_that_does_not_concern_the_id_is_an_outage_unless_another_address_answers(status: int) -> None:
    path = "/schemas/ids/7"
    with imitated_registry({path: (status, b"")}) as down, imitated_registry({path: {"schema": OURS}}) as up:
        with pytest.raises(Unreachable, match=f"HTTP {status}"):
            Registry(RegistrySettings(url=down), "events-value").schema(7)
        away = f"http://127.0.0.1:{free_port()}"
        assert Registry(RegistrySettings(url=f"{away}, {down}/,{up}"), "events-value").schema(7) == OURS


ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ANY_ANSWER = ANY_JSON | st.binary(max_size=20) | st.tuples(st.integers(200, 599), ANY_JSON)
ANY_REFERENCE = st.fixed_dictionaries({"subject": st.just("events"), "version": st.integers(1, 3)})
ANY_SCHEMA = ANY_ANSWER | st.fixed_dictionaries(
    {"schema": st.sampled_from([OURS, *OTHERS.values()]) | st.text(max_size=5)},
    optional={
        "id": st.integers() | ANY_JSON,
        "schemaType": st.just("AVRO") | ANY_JSON,
        "references": st.lists(ANY_REFERENCE, max_size=2) | ANY_JSON,
    },
)
ANY_VERSIONS = ANY_ANSWER | st.lists(st.integers(1, 3), max_size=3)


@pytest.mark.slow
@example([1, 2], None, {"schema": OURS, "id": -1}, {"schema": OURS, "id": 2**32})
@given(ANY_VERSIONS, ANY_SCHEMA, ANY_SCHEMA, ANY_SCHEMA)
def test_any_answer_is_a_schema_or_a_reason_or_an_outage(versions: Any, schema: Any, first: Any, second: Any) -> None:
    of_subject = "/subjects/events/versions"
    answers = {"/schemas/ids/7": schema, of_subject: versions, f"{of_subject}/1": first, f"{of_subject}/2": second}
    with imitated_registry(answers) as url:
        registry = Registry(RegistrySettings(url=url), "events")
        with suppress(Unreachable):
            assert isinstance(registry.schema(7), str | Unusable | None)
        with suppress(Unreachable):
            for schema_id, found in registry.of_subject().items():
                assert id_bytes(schema_id)
                assert isinstance(found, str | Unusable)


def test_without_a_registry_and_without_what_was_kept_no_service_starts(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, registry: SchemaRegistry
) -> None:
    topic = make_topic()
    for text in (OTHERS["words"], NOT_AN_EVENT):
        registry.register(f"{topic}-value", text)
    told = {
        f"http://127.0.0.1:{free_port()}": "cannot read schemas from the registry",
        registry.url: f"the registry has no schema of subject {topic}-value that has what an event needs",
    }
    for url, sentence in told.items():
        with (
            pytest.raises(SetUpError, match=sentence),
            open_service(settings(broker, topic, tmp_path / "warehouse", url)),
        ):
            pass
    assert not (tmp_path / "warehouse").exists()


def test_an_address_without_a_scheme_is_a_sentence() -> None:
    with pytest.raises(SetUpError, match=r"schemas\.registry\.url = 'registry:8081' is no address of a registry"):
        Registry(RegistrySettings(url="registry:8081"), "events-value")
