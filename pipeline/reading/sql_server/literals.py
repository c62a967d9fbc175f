"""Turns values of parameters into literals of DuckDB. Source: PostgreSQL, `pg_type.dat`, and its functions `*_send`."""

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

from pipeline.reading.sql_server.wire import Body, Refused
from pipeline.reading.sql_views import text_sql

_YEAR_2000: Final = datetime(2000, 1, 1)  # noqa: DTZ001 - the type says whether it is UTC
_NEGATIVE: Final = 0x4000


class _Type(NamedTuple):
    """The name of a type in DuckDB, its binary form as for `struct` (empty: text only), and the text of its numbers."""

    name: str
    packed: str = ""
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


_TYPES: Final[Mapping[int, _Type]] = {
    16: _Type("BOOLEAN", "?"),
    20: _Type("BIGINT", "q"),
    21: _Type("SMALLINT", "h"),
    23: _Type("INTEGER", "i"),
    700: _Type("FLOAT", "f"),
    701: _Type("DOUBLE", "d"),
    1082: _Type("DATE", "i", lambda days: str((_YEAR_2000 + timedelta(days)).date())),
    1083: _Type("TIME", "q", lambda microseconds: str(timedelta(microseconds=microseconds))),
    1114: _Type("TIMESTAMP", "q", _time_text),
    1184: _Type("TIMESTAMP WITH TIME ZONE", "q", lambda microseconds: f"{_time_text(microseconds)}+00:00"),
    1186: _Type("INTERVAL", "qii", lambda us, days, months: f"{months} month {days} day {us} microsecond"),
    1700: _Type("DECIMAL(38, 9)"),
    2950: _Type("UUID", "16s", lambda value: str(UUID(bytes=value))),
}
TEXT: Final = 25
_DECIMAL: Final = 1700
_TEXTS: Final = (0, TEXT, 1042, 1043)
"""Types whose binary form is their text; 0 is a type that is open."""
_ARRAYS: Final = {
    1000: 16,
    1005: 21,
    1007: 23,
    1009: TEXT,
    1015: TEXT,
    1016: 20,
    1021: 700,
    1022: 701,
    1115: 1114,
    1182: 1082,
    1183: 1083,
    1185: 1184,
    1231: _DECIMAL,
    2951: 2950,
}
"""Types of arrays, with those of their items."""
_ITEMS: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^",{}]+)', re.DOTALL)


def oid_of(name: str, *, is_list: bool = False) -> int:
    """Returns the number of a type of DuckDB; 0 if PostgreSQL has no such type."""
    oid = TEXT if name == "VARCHAR" else next((oid for oid, kind in _TYPES.items() if _is(kind, name)), 0)
    return next((array for array, item in _ARRAYS.items() if item == oid), 0) if is_list else oid


def _is(kind: _Type, name: str) -> bool:
    return kind.name.partition("(")[0] == name.partition("(")[0]


def literal_of(value: bytes | None, oid: int, form: int) -> str:
    """Returns a literal for a value of type number `oid`, sent as text (`form` 0) or binary (1). Raises Refused."""
    name = _name_of(oid)
    if value is None:
        return f"CAST(NULL AS {name})" if name else "NULL"
    if oid in _ARRAYS:
        items = _binary_items(value) if form == 1 else _text_items(_text(value))
        return f"CAST([{', '.join(literal_of(item, _ARRAYS[oid], form) for item in items)}] AS {name})"
    kind = _TYPES.get(oid, _Type(""))
    text = _text(value) if form != 1 or oid in _TEXTS else _text_of_binary(value, oid, kind)
    return f"CAST({text_sql(text)} AS {name})" if kind.name else text_sql(text)


def _name_of(oid: int) -> str:
    """Returns the name of a type in DuckDB; empty if it is open or unknown."""
    if oid in _ARRAYS:
        return f"{_name_of(_ARRAYS[oid])}[]"
    return "VARCHAR" if oid in _TEXTS[1:] else _TYPES[oid].name if oid in _TYPES else ""


def _text_items(text: str) -> Iterator[bytes | None]:
    """Yields the items of an array's text, such as `{a,"b c",NULL}`."""
    if not text.startswith("{") or text.startswith("{{"):
        raise Refused("0A000", "an array parameter must have one dimension, from index 1")
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


def _text_of_binary(value: bytes, oid: int, kind: _Type) -> str:
    if oid == _DECIMAL:
        return _decimal_text(value)
    if not kind.packed or struct.calcsize(f"!{kind.packed}") != len(value):
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
