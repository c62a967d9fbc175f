"""Encodes values of Arrow for PostgreSQL, as text and in its binary form. Source: PostgreSQL, `pg_type.dat`."""

import datetime as dt
import decimal
import json
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.command_line.counts import counted
from tidemark.pipeline.sql_server.pg_types import BY_OID, BYTEA, DECIMAL, TEXT
from tidemark.pipeline.sql_server.wire import Column, Refused, sized

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_YEAR_2000_US: Final = 946_684_800_000_000
_YEAR_2000_DAYS: Final = 10_957
_YEAR_9999_US: Final = 253_370_764_800_000_000
_DAYS_OF_400_YEARS: Final = 146_097
_UNQUOTED: Final = re.compile(rb'[^\s{},"\\]+')
Encoder = Callable[[Any], bytes]


class Encoding(NamedTuple):
    """The number of a type of PostgreSQL, and encoders for text and binary form."""

    oid: int
    text: Encoder
    binary: Encoder


def _packed(form: str) -> Encoder:
    return lambda value: struct.pack(f"!{form}", value)


def _plain(value: Any) -> bytes:
    return str(value).encode()


def _time_text(value: int, zone: dt.tzinfo = dt.UTC) -> bytes:
    """Encodes a time in microseconds since 1970 as PostgreSQL does: `2024-05-01 14:00:00.25+02`."""
    # Python has no year after 9999; days have the same dates 400 years earlier.
    years = 400 if value >= _YEAR_9999_US else 0
    time = (_EPOCH + dt.timedelta(days=-years // 400 * _DAYS_OF_400_YEARS, microseconds=value)).astimezone(zone)
    text = f"{time:%H:%M:%S.%f}".rstrip("0").rstrip(".") if time.microsecond else f"{time:%H:%M:%S}"
    offset = time.isoformat(timespec="seconds")[19:].removesuffix(":00")
    return f"{time.year + years:04}-{time:%m-%d} {text}{offset}".encode()


def _decimal_binary(value: decimal.Decimal) -> bytes:
    """Encodes a decimal as digits to the base 10,000 with weight, sign and scale."""
    sign, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    whole = "".join(map(str, digits)) + "0" * max(0, int(exponent))
    whole = whole.rjust(scale, "0")
    before, after = whole[: len(whole) - scale], whole[len(whole) - scale :]
    before, after = before.rjust(-(-len(before) // 4) * 4, "0"), after.ljust(-(-len(after) // 4) * 4, "0")
    groups = [int((before + after)[at : at + 4]) for at in range(0, len(before + after), 4)]
    return struct.pack(f"!hhHh{len(groups)}H", len(groups), len(before) // 4 - 1, 0x4000 if sign else 0, scale, *groups)


def _text_of(value: Any) -> bytes:
    """Encodes text unchanged, and lists and structures as JSON."""
    return value.encode() if isinstance(value, str) else json.dumps(value, default=str).encode()


def _clock_text(microseconds: int) -> str:
    """Returns `03:04:05.5` for a time of day or a duration that is not negative."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}".rstrip("0") if fraction else text


def _interval_text(value: pa.MonthDayNano) -> bytes:
    """Encodes an interval as PostgreSQL does: `1 year 2 mons -3 days +04:05:06.5`."""
    microseconds, years = value.nanoseconds // 1000, int(value.months / 12)
    parts: list[str] = []
    is_before = False
    for amount, unit in ((years, "year"), (value.months - 12 * years, "mon"), (value.days, "day")):
        if amount:
            plus = "+" if is_before and amount > 0 else ""
            parts.append(f"{plus}{amount} {unit}{'' if amount == 1 else 's'}")
            is_before = amount < 0
    if microseconds or not parts:
        sign = "-" if microseconds < 0 else "+" if is_before else ""
        parts.append(sign + _clock_text(abs(microseconds)))
    return " ".join(parts).encode()


def _interval_binary(value: pa.MonthDayNano) -> bytes:
    return struct.pack("!qii", value.nanoseconds // 1000, value.days, value.months)


def _array_text(items: Sequence[bytes | None]) -> bytes:
    """Encodes an array as PostgreSQL does: `{a,"b c",NULL}`."""
    return b"{" + b",".join(b"NULL" if item is None else _quoted(item) for item in items) + b"}"


def _quoted(item: bytes) -> bytes:
    if item.upper() != b"NULL" and _UNQUOTED.fullmatch(item):
        return item
    return b'"' + re.sub(rb'(["\\])', rb"\\\1", item) + b'"'


def _array_binary(items: Sequence[bytes | None], oid: int) -> bytes:
    """Encodes an array of items of type number `oid`: its dimensions, each with a size and a first index, and items."""
    head = struct.pack("!iii", bool(items), None in items, oid) + (struct.pack("!ii", len(items), 1) if items else b"")
    return head + b"".join(map(sized, items))


_TEXT: Final = Encoding(TEXT, _text_of, _text_of)
_TIME: Final = Encoding(1184, _time_text, lambda value: struct.pack("!q", value - _YEAR_2000_US))
_DATE: Final = Encoding(
    1082, _plain, lambda value: struct.pack("!i", (value - dt.date(1970, 1, 1)).days - _YEAR_2000_DAYS)
)
_KINDS: Final[Sequence[tuple[Callable[[pa.DataType], bool], Encoding]]] = (
    (pa.types.is_boolean, Encoding(16, lambda value: b"t" if value else b"f", _packed("?"))),
    (lambda kind: kind in (pa.int8(), pa.uint8(), pa.int16()), Encoding(21, _plain, _packed("h"))),
    (lambda kind: kind in (pa.uint16(), pa.int32()), Encoding(23, _plain, _packed("i"))),
    (lambda kind: kind == pa.uint32(), Encoding(26, _plain, _packed("I"))),
    (lambda kind: kind == pa.int64(), Encoding(20, _plain, _packed("q"))),
    (pa.types.is_float32, Encoding(700, _plain, _packed("f"))),
    (pa.types.is_float64, Encoding(701, _plain, _packed("d"))),
    (pa.types.is_decimal, Encoding(DECIMAL, _plain, _decimal_binary)),
    (
        lambda kind: kind == pa.uint64(),
        Encoding(DECIMAL, _plain, lambda value: _decimal_binary(decimal.Decimal(value))),
    ),
    (pa.types.is_date, _DATE),
    (pa.types.is_time, Encoding(1083, lambda value: _clock_text(value).encode(), _packed("q"))),
    (pa.types.is_interval, Encoding(1186, _interval_text, _interval_binary)),
    (pa.types.is_binary, Encoding(BYTEA, lambda value: b"\\x" + value.hex().encode(), bytes)),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, _TIME),
    (pa.types.is_timestamp, _TIME._replace(oid=1114, text=lambda value: _time_text(value).removesuffix(b"+00"))),
)


def _encoding(kind: pa.DataType) -> Encoding:
    """Returns the encoding of values of a type of Arrow; text if PostgreSQL has no equivalent."""
    return next((encoding for fits, encoding in _KINDS if fits(kind)), _TEXT)


def _is_array(kind: pa.DataType) -> bool:
    """Whether a type of Arrow is an array in PostgreSQL, which has no arrays of lists or structures."""
    return (pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind)) and not pa.types.is_nested(kind.value_type)


def columns_of(schema: pa.Schema) -> list[Column]:
    """Returns the columns as sent to clients."""
    kinds = (
        BY_OID[_encoding(kind.value_type).oid].array if _is_array(kind) else BY_OID[_encoding(kind).oid]
        for kind in schema.types
    )
    return [Column(name, kind.oid, kind.size) for name, kind in zip(schema.names, kinds, strict=True)]


def formats_of(asked: Sequence[int], columns: int) -> list[int]:
    """Returns 0 (text) or 1 (binary) for each column. `asked` has one for each, one for all, or is empty."""
    formats = list(asked) if len(asked) > 1 else [*asked, *[0] * (not asked)] * columns
    if len(formats) != columns or not {*formats} <= {0, 1}:
        raise Refused("08P01", f"the client requested {counted(len(asked), 'format')} for {counted(columns, 'column')}")
    return formats


def rows_of(batch: pa.RecordBatch, formats: Sequence[int]) -> Iterator[tuple[bytes | None, ...]]:
    """Yields the encoded rows."""
    columns = [_encoded(column, is_binary=form == 1) for column, form in zip(batch.columns, formats, strict=True)]
    return zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)


def _encoded(column: pa.Array, *, is_binary: bool) -> list[bytes | None]:
    if _is_array(column.type):
        items, oid = iter(_encoded(column.flatten(), is_binary=is_binary)), _encoding(column.type.value_type).oid
        lengths = pc.list_value_length(column).to_pylist()
        lists = (None if length is None else [*islice(items, length)] for length in lengths)
        encode_list = partial(_array_binary, oid=oid) if is_binary else _array_text
        return [None if values is None else encode_list(values) for values in lists]
    encoding = _encoding(column.type)
    encode = encoding.binary if is_binary else encoding.text
    if pa.types.is_time(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_timestamp(column.type):
        if column.type.tz and not is_binary:
            encode = partial(_time_text, zone=ZoneInfo(column.type.tz))
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    return [None if value is None else encode(value) for value in column.to_pylist()]
