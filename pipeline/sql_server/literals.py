"""Turns values of parameters into literals of DuckDB. Source: PostgreSQL, `pg_type.dat`, and its functions `*_send`."""

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

from tidemark.pipeline.reading.sql_views import text_sql
from tidemark.pipeline.sql_server.pg_types import BY_OID, BYTEA, DECIMAL, ITEMS, TEXT
from tidemark.pipeline.sql_server.wire import Body, Refused

_YEAR_2000: Final = datetime(2000, 1, 1)  # noqa: DTZ001 - the type says whether it is UTC
_NEGATIVE: Final = 0x4000


class _Form(NamedTuple):
    """The binary form of a type as for `struct`, and the text of its numbers, or of its bytes without such a form."""

    packed: str
    text: Callable[..., str] = str


def _time_text(microseconds: int) -> str:
    return str(_YEAR_2000 + timedelta(microseconds=microseconds))


def _decimal_text(value: bytes) -> str:
    """Returns the text of a decimal, which is sent as digits to the base 10,000 with weight, sign and scale."""
    body = Body(value)
    count, weight, sign, _ = body.number("h"), body.number("h"), body.number("H"), body.number("h")
    if sign not in (0, _NEGATIVE):
        raise Refused("0A000", "a decimal parameter is not a finite number")
    digits = "".join(f"{body.number('H'):04}" for _ in range(count)) or "0"
    exponent = 4 * (weight - count + 1) if count else 0
    return f"{Decimal(f'{digits}E{exponent}').copy_sign(-1 if sign else 1):f}"


_FORMS: Final[Mapping[int, _Form]] = {
    16: _Form("?"),
    BYTEA: _Form("", lambda value: f"\\x{value.hex()}"),
    20: _Form("q"),
    21: _Form("h"),
    23: _Form("i"),
    26: _Form("I"),
    700: _Form("f"),
    701: _Form("d"),
    1082: _Form("i", lambda days: str((_YEAR_2000 + timedelta(days)).date())),
    1083: _Form("q", lambda microseconds: str(timedelta(microseconds=microseconds))),
    1114: _Form("q", _time_text),
    1184: _Form("q", lambda microseconds: f"{_time_text(microseconds)}+00:00"),
    1186: _Form("qii", lambda us, days, months: f"{months} month {days} day {us} microsecond"),
    DECIMAL: _Form("", _decimal_text),
    2950: _Form("16s", lambda value: str(UUID(bytes=value))),
}
_TEXTS: Final = (0, TEXT, 1042, 1043)
"""Types whose binary form is their text; 0 is a type that is open."""
_ITEMS: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s",{}](?:[^",{}]*[^\s",{}])?)', re.DOTALL)


def literal_of(value: bytes | None, oid: int, form: int) -> str:
    """Returns a literal for a value of type number `oid`, sent as text (`form` 0) or binary (1). Raises Refused."""
    name = _name_of(oid)
    if value is None:
        return f"CAST(NULL AS {name})" if name else "NULL"
    if oid in ITEMS:
        items = _binary_items(value) if form == 1 else text_items(_text(value))
        return f"CAST([{', '.join(literal_of(item, ITEMS[oid], form) for item in items)}] AS {name})"
    text = _text(value) if form != 1 or oid in _TEXTS else _text_of_binary(value, oid)
    return f"CAST({text_sql(text)} AS {name})" if oid in _FORMS else text_sql(text)


def _name_of(oid: int) -> str:
    """Returns the name of a type in DuckDB; empty if it is open or unknown."""
    return "VARCHAR" if oid in _TEXTS[1:] else BY_OID[oid].duckdb_name if oid in BY_OID else ""


def text_items(text: str) -> Iterator[bytes | None]:
    """Yields the items of an array's text, such as `{a,"b c",NULL}`."""
    if not text.startswith("{") or text.startswith("{{"):
        raise Refused("0A000", "the text of an array must have one dimension, from index 1")
    for item in _ITEMS.finditer(text):
        if item[2] is None:
            yield re.sub(r"\\(.)", r"\1", item[1], flags=re.DOTALL).encode()
        else:
            yield None if item[2].upper() == "NULL" else item[2].encode()


def _binary_items(value: bytes) -> Iterator[bytes | None]:
    """Yields the items of an array that has at most one dimension."""
    body = Body(value)
    dimensions, _, _ = (body.number() for _ in range(3))
    if dimensions not in (0, 1):
        raise Refused("0A000", "an array parameter must have one dimension")
    count = body.number() if dimensions else 0
    if dimensions:
        body.number()  # the index of the first item
    for _ in range(count):
        yield None if (size := body.number()) < 0 else body.take(size)


def _text_of_binary(value: bytes, oid: int) -> str:
    kind = _FORMS.get(oid)
    if kind and not kind.packed:
        return kind.text(value)
    if kind is None or struct.calcsize(f"!{kind.packed}") != len(value):
        raise Refused("0A000", f"parameters of type {oid} are supported as text only")
    try:
        return kind.text(*struct.unpack(f"!{kind.packed}", value))
    except OverflowError as error:
        raise Refused("22008", "a parameter is a time before the year 1 or after 9999") from error


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Refused("22021", "a parameter is not UTF-8") from error
