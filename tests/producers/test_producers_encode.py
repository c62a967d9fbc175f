"""The fast encoder against fastavro, byte for byte, and JSON against Python's parser."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings

from tidemark.producers.encode import arrow_schema, encode, encode_as_json, encode_one
from tidemark.producers.simulate import Disorder, Site, simulate
from tidemark.schemas import load_schemas

OPTIONAL = ("session_id", "referrer", "user_agent", "element_id")
_ALPHABET = "aZ0/ \x00\x7f\u00e9\u4e16\u0416\U0001f30a"


TEXT = "".join(random.Random(0).choices(_ALPHABET, k=5_000))


def random_event(draw: random.Random) -> dict[str, Any]:
    def text(longest: int) -> str:
        begin = draw.randrange(len(TEXT))
        return TEXT[begin : begin + draw.randrange(longest)]

    return {
        "event_id": text(40),
        "event_type": draw.choice(("visit", "click")),
        "user_id": text(10),
        "event_time": draw.choice((0, 1, 63, 64, 1_700_000_000_000, 2**53, -1)),
        "page_url": text(300),
        **{name: draw.choice((None, "", text(200))) for name in OPTIONAL},
    }


def batch_of(events: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(events, schema=arrow_schema())


def test_odd_events_are_encoded_as_fastavro_does() -> None:
    draw = random.Random(1)
    events = [random_event(draw) for _ in range(20 * settings().max_examples)]
    assert encode(batch_of(events)) == [encode_one(event) for event in events]


def test_simulated_events_are_encoded_as_fastavro_does() -> None:
    batches = simulate(
        Site(users=400), Disorder(), events=20 * settings().max_examples, start_ms=1_700_000_000_000, event_rate=100
    )
    for batch in batches:
        rows = batch.events.to_pylist()
        assert encode(batch.events) == [encode_one(row) for row in rows]


def test_json_has_the_fields_of_the_schema_with_the_same_values() -> None:
    draw = random.Random(5)
    events = [random_event(draw) for _ in range(20 * settings().max_examples)]
    assert [json.loads(value) for value in encode_as_json(batch_of(events))] == events


def test_a_value_begins_with_a_zero_byte_and_the_big_endian_schema_id() -> None:
    event = random_event(random.Random(2))
    assert encode(batch_of([event]))[0][:5] == b"\x00\x00\x00\x00\x01"
    text = load_schemas()[1]
    assert encode_one(event, 258, text)[:5] == b"\x00\x00\x00\x01\x02"


def test_no_events_give_no_values() -> None:
    assert encode(batch_of([])) == encode_as_json(batch_of([])) == []


def test_a_newer_writer_schema_adds_its_field_and_its_id(tmp_path: Path) -> None:
    first = load_schemas()[1]
    country = '{"name": "country", "type": "string", "default": "?"}'
    (tmp_path / "user_event.avsc").write_text(first)
    (tmp_path / "user_event.7.avsc").write_text(first.rstrip()[:-1].rstrip()[:-1] + f",{country}]}}")
    event = random_event(random.Random(3))
    newer = encode_one({**event, "country": "NL"}, 7, load_schemas(tmp_path)[7])
    assert newer == b"\x00\x00\x00\x00\x07" + encode_one(event)[5:] + b"\x04NL"


def test_an_unknown_schema_id_without_its_text_is_an_error() -> None:
    with pytest.raises(KeyError):
        encode_one(random_event(random.Random(4)), 99)
