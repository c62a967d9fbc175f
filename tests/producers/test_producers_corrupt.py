"""Malformed values are malformed, each in its own way, and the others are left alone."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.producers.recount import HEADER, decode, decode_json
from tidemark.producers.corrupt import corrupt
from tidemark.producers.encode import Encode, encode, encode_as_json
from tidemark.producers.kinds import MALFORMED, Kind
from tidemark.producers.simulate import Batch, Disorder, Simulator, Site

START = 1_700_000_000_000


def batch_of(kind: Kind) -> Batch:
    disorder = Disorder(malformed_share=1, malformed_kinds=(kind,))
    return Simulator(Site(users=400), disorder, START).step(100, START, START + 1_000, START)


@pytest.mark.parametrize(("encoder", "read"), [(encode, decode), (encode_as_json, decode_json)])
@pytest.mark.parametrize("kind", MALFORMED)
def test_no_reader_takes_a_malformed_value_for_an_event(
    kind: Kind, encoder: Encode, read: Callable[[bytes | None], object]
) -> None:
    batch = batch_of(kind)
    values = corrupt(encoder(batch.events), batch.kinds)
    assert len(values) == 100
    assert [value for value in values if read(value)] == []


@pytest.mark.parametrize(
    ("kind", "looks"),
    [
        (Kind.BAD_MAGIC, lambda v: v[:5] == b"\x01\x00\x00\x00\x01" and decode(HEADER + v[5:])),
        (Kind.UNKNOWN_SCHEMA, lambda v: v[:5] == b"\x00\x7f\xff\xff\xff" and decode(HEADER + v[5:])),
        (Kind.TRUNCATED, lambda v: v[:5] == HEADER and len(v) == 25),
        (Kind.HUGE_STRING, lambda v: v[:10] == HEADER + b"\xfc\xff\xff\xff\x0f"),
        (Kind.EMPTY_VALUE, lambda v: v == b""),
        (Kind.TOMBSTONE, lambda v: v is None),
    ],
)
def test_each_kind_is_broken_in_that_way_only(kind: Kind, looks) -> None:  # type: ignore[no-untyped-def]
    batch = batch_of(kind)
    assert all(looks(value) for value in corrupt(encode(batch.events), batch.kinds))


def test_empty_users_and_zero_times_are_sound_avro() -> None:
    assert set(batch_of(Kind.EMPTY_USER).events["user_id"].to_pylist()) == {""}
    assert set(batch_of(Kind.ZERO_TIME).times.tolist()) == {0}


def test_well_formed_values_are_left_alone() -> None:
    values = [b"one", b"two", b"three"]
    kinds = np.array([Kind.ON_TIME, Kind.TOMBSTONE, Kind.TOO_LATE], np.uint8)
    assert corrupt(values, kinds) == [b"one", None, b"three"]
