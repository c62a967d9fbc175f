"""A request's body becomes records, or an error with its reason."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.producers.collect.collect_client import NOW_MS, event, request_body
from tests.producers.recount import decode
from tidemark.producers.collect.contract import (
    EVENTS,
    ID_LENGTH,
    NAME_LENGTH,
    PROPERTIES,
    PROPERTY_LENGTH,
    URL_LENGTH,
    Event,
)
from tidemark.producers.collect.reading import MAX_AGE_MS, TOO_OLD, MalformedBody, RejectedEvent, acted_at, read
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import CLICK, OTHER, VISIT

RECEIVED_MS = NOW_MS + 100_000
SECOND = 1_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*Event.model_fields, "more"]), inner),
    max_leaves=20,
)


def test_an_event_has_the_fields_of_the_schema_except_those_of_the_request() -> None:
    fields = {field["name"]: field for field in json.loads(load_schemas()[2])["fields"]}
    assert Event.model_fields.keys() == fields.keys() - {"user_agent", "event_name"}
    assert fields["event_type"]["type"]["symbols"] == [VISIT, CLICK, OTHER]


def test_records_for_kafka_have_the_values_of_the_request() -> None:
    visit = event(session_id="s", referrer="https://search.example/", event_time=NOW_MS - 7 * SECOND)
    click = event(event_type="click", user_id="béa", element_id="buy", referrer="")
    records, rejected = read(request_body(visit, click), RECEIVED_MS, "Firefox")
    assert not rejected
    assert [(one.event_type, one.key) for one in records] == [("visit", b"ann"), ("click", "béa".encode())]
    nothing = {"session_id": None, "referrer": None, "element_id": None}
    assert [decode(one.value) for one in records] == [
        {**nothing, **visit, "event_time": RECEIVED_MS - 7 * SECOND, "user_agent": "Firefox"},
        {**nothing, **click, "event_time": RECEIVED_MS, "user_agent": "Firefox", "referrer": None},
    ]


def test_an_event_of_another_kind_or_with_properties_has_the_second_schema() -> None:
    properties = {"price": 12.5, "amount": 3, "gift": True, "tiny": 1e-7, "huge": 1e21, "colour": "r\u00f6d"}
    texts = {"price": "12.5", "amount": "3", "gift": "true", "tiny": "0.0000001", "colour": "r\u00f6d"}
    purchase = event(event_type="purchase", element_id="checkout", properties=properties)
    visit, login = event(properties={"plan": "pro"}), event(event_type="login")
    records, rejected = read(request_body(purchase, visit, login), RECEIVED_MS, None)
    assert not rejected
    assert [one.event_type for one in records] == ["other", "visit", "other"]
    found = [decode(one.value) or {} for one in records]
    assert [(each["event_type"], each["event_name"]) for each in found] == [
        ("other", "purchase"),
        ("visit", None),
        ("other", "login"),
    ]
    assert found[0]["properties"] == {**texts, "huge": "1" + "0" * 21}
    assert found[0]["element_id"] == "checkout"
    assert [each["properties"] for each in found[1:]] == [{"plan": "pro"}, {}]


@pytest.mark.parametrize(
    ("acted", "sent", "by_our_clock"),
    [
        (0, 0, 0),
        (0, 7 * SECOND, -7 * SECOND),
        (3_600 * SECOND, 3_607 * SECOND, -7 * SECOND),
        (-90 * 86_400 * SECOND, 7 * SECOND - 90 * 86_400 * SECOND, -7 * SECOND),
        (9 * SECOND, 0, 0),
    ],
    ids=["at once", "held back", "clock ahead by an hour", "clock behind by a season", "clock set back in between"],
)
def test_the_tellers_clock_cancels_out_and_nothing_is_in_the_future(acted: int, sent: int, by_our_clock: int) -> None:
    assert acted_at(NOW_MS + acted, NOW_MS + sent, RECEIVED_MS) == RECEIVED_MS + by_our_clock


@pytest.mark.parametrize(
    ("bad", "reason", "detail"),
    [
        (event(user_id=None), "missing", "user_id: Field required"),
        (event(user_id=""), "string_too_short", "user_id: "),
        (event(user_id="u" * (ID_LENGTH + 1)), "string_too_long", "user_id: "),
        (event(user_id=7), "string_type", "user_id: "),
        (event(session_id="s" * (ID_LENGTH + 1)), "string_too_long", "session_id: "),
        (event(page_url=""), "string_too_short", "page_url: "),
        (event(event_type="Purchase"), "string_pattern_mismatch", "event_type: String should match pattern"),
        (event(event_type="p" * (NAME_LENGTH + 1)), "string_too_long", "event_type: "),
        (event(properties={"price": None}), "string_type", "properties.price: "),
        (event(properties={"price": [1]}), "string_type", "properties.price: "),
        (event(properties={"the price": 1}), "string_pattern_mismatch", "properties.the price.[key]: "),
        (event(properties={"p": "x" * (PROPERTY_LENGTH + 1)}), "string_too_long", "properties.p: "),
        (event(properties={f"p{n}": n for n in range(PROPERTIES + 1)}), "too_long", "properties: "),
        (event(properties="price"), "dict_type", "properties: "),
        (event(event_time="now"), "int_type", "event_time: "),
        (event(event_time=1.5), "int_type", "event_time: "),
        (event(event_time=0), "greater_than", "event_time: "),
        (event(event_time=NOW_MS - MAX_AGE_MS - 1), TOO_OLD, "event_time: more than 600000 ms before sent_at"),
        (event(usr_id="ann"), "extra_forbidden", "usr_id: "),
        ("visit", "model_type", "Input should be a valid dictionary"),
    ],
)
def test_a_bad_event_is_rejected_with_its_error_and_without_the_other_events(
    bad: Any, reason: str, detail: str
) -> None:
    records, rejected = read(request_body(event(), bad, event()), RECEIVED_MS, None)
    assert len(records) == 2
    assert [(one.event, one.reason) for one in rejected] == [(1, reason)]
    assert rejected[0].detail.startswith(detail)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"\\ud83d"', "string_unicode"),
        ('"\\ude00\\ud83d"', "string_unicode"),
        ("[" * 200 + "]" * 200, "string_type"),
        ("[" * 20_000 + "]" * 20_000, "string_type"),
        ('{"a":' * 8_000 + '"]}\\""' + "}" * 8_000, "string_type"),
        ("9" * 4_300, "string_type"),
        ("-" + "9" * 60_000, "string_type"),
        ("1e999", "string_type"),
        ("NaN", "string_type"),
        (b'"\xff"', "string_unicode"),
        (b'"caf\xe9"', "string_unicode"),
    ],
)
@pytest.mark.parametrize("field", ["referrer", "page_url", "other"])
def test_one_value_that_cannot_be_read_costs_only_its_event(text: str | bytes, reason: str, field: str) -> None:
    value = text if isinstance(text, bytes) else text.encode()
    bad = json.dumps({**event(), field: "here"}).encode().replace(b'"here"', value)
    good = json.dumps(event(referrer='[{"\\')).encode()
    body = b'{"sent_at": %d, "events": [%b, %b, %b]}' % (NOW_MS, good, bad, good)
    records, rejected = read(body, RECEIVED_MS, None)
    assert [(decode(one.value) or {})["referrer"] for one in records] == ['[{"\\'] * 2
    assert [(one.event, one.reason) for one in rejected] == [(1, "extra_forbidden" if field == "other" else reason)]
    json.dumps(asdict(rejected[0]), ensure_ascii=False).encode()


@pytest.mark.parametrize("key", [b'"\\ud83d"', b'"\xff"'])
def test_a_name_of_a_field_that_cannot_be_read_costs_only_its_event(key: bytes) -> None:
    bad = json.dumps(event()).encode().replace(b'"page_url"', key)
    body = b'{"sent_at": %d, "events": [%b, %b]}' % (NOW_MS, bad, json.dumps(event()).encode())
    records, rejected = read(body, RECEIVED_MS, None)
    assert (len(records), [one.event for one in rejected]) == (1, [0])
    json.dumps(asdict(rejected[0]), ensure_ascii=False).encode()


def test_the_rest_of_a_long_page_referrer_or_element_is_cut_off() -> None:
    long = event(page_url="p" * 3_000, referrer="r" * 3_000, element_id="e" * 200)
    records, rejected = read(request_body(long), RECEIVED_MS, None)
    assert not rejected
    fields = decode(records[0].value) or {}
    assert fields["page_url"] == "p" * URL_LENGTH
    assert fields["referrer"] == "r" * URL_LENGTH
    assert fields["element_id"] == "e" * ID_LENGTH


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("https://shop.example/a;jsessionid=1F2E/b?c=d;e=f#g", "https://shop.example/a/b?c=d;e=f#g"),
        ("https://shop.example/(S(lit3py55))/a%3Bjsessionid=1F2E", "https://shop.example/a"),
        ("https://shop.example/~ann/caf%c3%a9", "https://shop.example/~ann/caf%c3%a9"),
    ],
)
def test_a_session_id_is_removed_from_page_and_referrer(sent: str, stored: str) -> None:
    records, _ = read(request_body(event(page_url=sent, referrer=sent)), RECEIVED_MS, None)
    fields = decode(records[0].value) or {}
    assert (fields["page_url"], fields["referrer"]) == (stored, stored)


@pytest.mark.parametrize(
    "body", [b"[" * 60_000, b"[" * 3_000 + b'"' * 60_000, b"[" * 3_000 + b'"' + b'\\"' * 30_000, b'{"a":' * 12_000]
)
def test_hostile_depth_is_refused_without_an_end_of_the_stack(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        read(body, RECEIVED_MS, None)


def test_an_event_that_was_held_back_as_long_as_it_may_be_is_not_too_old() -> None:
    records, rejected = read(request_body(event(event_time=NOW_MS - MAX_AGE_MS)), RECEIVED_MS, None)
    assert (len(records), rejected) == (1, list[RejectedEvent]())


def test_the_maximum_age_of_an_event_does_not_depend_on_the_senders_clock() -> None:
    for clock in (0, NOW_MS, 2 * NOW_MS):
        old, young = (event(event_time=clock + 1_000_000 - age) for age in (5_001, 5_000))
        records, rejected = read(
            request_body(old, young, sent_at=clock + 1_000_000), RECEIVED_MS, None, max_age_ms=5_000
        )
        assert [one.reason for one in rejected] == [TOO_OLD]
        assert [(decode(one.value) or {})["event_time"] for one in records] == [RECEIVED_MS - 5_000]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "json_invalid"),
        (b"{", "json_invalid"),
        (b'{"sent_at": "\\ud800", "events": [1]}', "int_type"),
        (b"\xff", "json_invalid"),
        (b"[" * 10_000, "json_invalid"),
        (b"[]", "model_type"),
        (b'{"events": [1]}', "missing"),
        (request_body(event(), sent_at="now"), "int_type"),
        (request_body(), "too_short"),
        (request_body(*[event()] * (EVENTS + 1)), "too_long"),
    ],
)
def test_a_request_that_breaks_the_contract_is_answered_with_the_reason(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedBody) as malformed:
        read(body, RECEIVED_MS, None)
    assert malformed.value.reason == reason
    assert str(malformed.value)


@given(
    st.binary()
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.lists(JSON).map(lambda all_: request_body(*all_))
)
def test_every_event_of_any_request_becomes_a_record_or_is_rejected(body: bytes) -> None:
    try:
        records, rejected = read(body, RECEIVED_MS, None)
    except MalformedBody:
        return
    assert len(records) + len(rejected) == len(json.loads(body)["events"])
