"""The oracle's own reader against fastavro, so that it is not alone with its view of the specification."""

import io
import json

import fastavro
import pytest

from tests.fuzz.kept import corpus
from tests.fuzz.mutate import mutants
from tests.fuzz.reader import NotAvro, Reader
from tests.fuzz.seeds import seeds
from tidemark.schemas import load_schemas

# Without their logical type: not every long is a date of Python's.
SCHEMAS = {
    number.to_bytes(5, "big"): schema.replace('{"type": "long", "logicalType": "timestamp-millis"}', '"long"')
    for number, schema in load_schemas().items()
}
READERS = {frame: Reader(schema) for frame, schema in SCHEMAS.items()}
PARSED = {frame: fastavro.parse_schema(json.loads(schema)) for frame, schema in SCHEMAS.items()}
DROPPED_BITS = ("event type with bits beyond 32", "time with bits beyond 64")
"""Records of the corpus in which fastavro keeps the excess bits of a number, or drops others."""


def by_fastavro(value: bytes) -> dict[str, object]:
    """All fields of a framed value; texts as bytes. Raises what fastavro raises."""
    body = io.BytesIO(value[5:])
    found = fastavro.schemaless_reader(body, PARSED[value[:5]], None, handle_unicode_errors="surrogateescape")
    assert isinstance(found, dict)
    return {name: one if name == "event_type" else as_bytes(one) for name, one in found.items() if one is not None}


def as_bytes(one: object) -> object:
    """Returns texts, also those of a map, as their bytes."""
    if isinstance(one, dict):
        return {as_bytes(name): as_bytes(text) for name, text in one.items()}
    return one.encode(errors="surrogateescape") if isinstance(one, str) else one


def by_us(value: bytes) -> dict[str, object] | None:
    try:
        return READERS[value[:5]].read(value, 5)
    except NotAvro:
        return None


def test_what_the_oracle_reads_fastavro_reads_too() -> None:
    named = {name: value for name, value in corpus().items() if name not in DROPPED_BITS}
    broken = [value for value in mutants(seeds(), 1_500, 7) if not any(bits in value for bits in _BITS)]
    for value in [*named.values(), *broken]:
        if value[:5] in READERS and (found := by_us(value)) is not None:
            assert found == by_fastavro(value), value.hex()


_BITS = tuple(map(bytes.fromhex, ("8080808010", "8080808070", "80808080808080808002")))


@pytest.mark.parametrize("value", seeds()[:6], ids=range(6))
def test_an_event_cut_anywhere_is_invalid_for_both(value: bytes) -> None:
    assert by_us(value) == by_fastavro(value)
    for end in range(5, len(value)):
        assert by_us(value[:end]) is None
        with pytest.raises((EOFError, IndexError, ValueError)):
            by_fastavro(value[:end])


def test_the_mutants_are_of_every_kind_and_always_the_same() -> None:
    found = mutants(seeds(), 1_000, 1)
    assert found == mutants(seeds(), 1_000, 1)
    readable = sum(value[:5] in READERS and by_us(value) is not None for value in found)
    assert 100 < readable < 750
    assert len(set(found)) > 750
