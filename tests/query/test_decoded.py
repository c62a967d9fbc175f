"""A value is decoded as far as possible: its frame, its fields up to the first error, its bytes."""

import json
from uuid import UUID

import pytest

from tests.support.topic_writer import value_of
from tidemark.pipeline.decoding.record_decoding import decode_value
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import schema_id_of

SCHEMAS = load_schemas()
GUID = "6f3f4a4e-3a30-4e8d-9d0f-7c6a1d2e3f40"
WHOLE = value_of("ann", 1_714_564_800_000, page="/a")


def test_an_event_is_decoded_field_by_field() -> None:
    found = decode_value(WHOLE, SCHEMAS)
    fields = dict(found.fields)
    assert found.sentence == "It is Avro of schema 1, UserEvent."
    assert (json.loads(fields["user_id"]), json.loads(fields["page_url"])) == ("ann", "/a")
    assert "2024-05-01 12:00:00" in fields["event_time"]


def test_a_value_whose_frame_has_a_guid_is_decoded() -> None:
    found = decode_value(b"\1" + UUID(GUID).bytes + WHOLE[5:], {schema_id_of(GUID): SCHEMAS[1]})
    assert found.sentence == f"It is Avro of schema {GUID}, UserEvent."
    assert found.fields == decode_value(WHOLE, SCHEMAS).fields


@pytest.mark.parametrize("cut", range(5, len(WHOLE)))
def test_a_truncated_value_is_decoded_up_to_its_end(cut: int) -> None:
    found, whole = decode_value(WHOLE[:cut], SCHEMAS), decode_value(WHOLE, SCHEMAS)
    assert found.fields == whole.fields[: len(found.fields)]
    assert len(found.fields) < len(whole.fields)
    name = json.loads(SCHEMAS[1])["fields"][len(found.fields)]["name"]
    assert f"{name}, field {len(found.fields) + 1} of 9, is unreadable" in found.sentence


def test_a_schema_that_the_service_reads_is_read() -> None:
    field = {"name": "q", "type": "string", "default": None}
    schema = json.dumps({"type": "record", "name": "Ev$1", "namespace": "a$b", "fields": [field]})
    found = decode_value(b"\0\0\0\0\2\2x", {2: schema})
    assert (found.fields, found.sentence) == ((("q", '"x"'),), "It is Avro of schema 2, Ev_24_1.")
    found = decode_value(b"\0\0\0\0\2\2x", {2: '"string"'})
    assert "schema 2 is " in found.sentence
    assert found.fields == ()


def test_bytes_that_are_left_over_are_counted() -> None:
    assert (
        decode_value(WHOLE + b"abc", SCHEMAS).sentence == "It is Avro of schema 1, UserEvent, with 3 bytes left over."
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "no value: a tombstone"),
        (b"", "has no frame"),
        (b"\0\0\0", "has no frame"),
        (b'{"user_id": "ann"', "has no frame"),
        (b"{" * 100_000, "has no frame"),
        (b"\0\0\0\0\x09rest", "has the unknown schema id 9; known ids: 1"),
        (b"\1" + UUID(GUID).bytes, f"has the unknown schema id {GUID}; known ids: 1"),
        (b"\1" + UUID(GUID).bytes[1:], "has no frame"),
        (b"\0\0\0\0\x01" + b"x" * 2_000_000, "has 2,000,005 bytes, which is too large"),
    ],
)
def test_a_value_that_is_not_avro_is_described_in_a_sentence(value: bytes | None, said: str) -> None:
    found = decode_value(value, SCHEMAS)
    assert said in found.sentence
    assert found.fields == ()


@pytest.mark.parametrize("frame", [b"", b"\0\0\0\0\7"])
def test_an_object_in_json_is_shown_field_by_field(frame: bytes) -> None:
    found = decode_value(frame + b'{"user": {"id": 7}, "at": "now"}', SCHEMAS)
    assert found.sentence == "It is JSON."
    assert found.fields == (("user", '{"id": 7}'), ("at", '"now"'))


def test_an_id_of_eight_bytes_is_read() -> None:
    assert decode_value(b"\0" * 5 + WHOLE[1:], SCHEMAS).fields == decode_value(WHOLE, SCHEMAS).fields
    assert "has the unknown schema id 0;" in decode_value(b"\0" * 6, SCHEMAS).sentence


def test_text_is_shown_as_text_and_bytes_as_bytes() -> None:
    found = decode_value(b'{"user_id": "ann"', SCHEMAS)
    assert found.text == '{"user_id": "ann"'
    assert found.bytes.startswith("0000  7b 22 75 73")
    assert decode_value(b"\xff\xfe", SCHEMAS).text is None


def test_a_text_that_claims_a_length_beyond_its_bytes_takes_no_memory() -> None:
    huge = b"\0\0\0\0\1" + b"\xfe\xff\xff\xff\xff\xff\xff\x7f" + b"abc"
    assert "event_id, field 1 of 9, is unreadable" in decode_value(huge, SCHEMAS).sentence


def test_long_values_are_shortened() -> None:
    found = decode_value(value_of("u" * 100_000, 1, page="/"), SCHEMAS)
    assert len(dict(found.fields)["user_id"]) < 600
    assert len(found.bytes) < 5000
    assert "more bytes" in found.bytes
