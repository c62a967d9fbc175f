"""Encodes values of Arrow for PostgreSQL, as text and in its binary form. Source: PostgreSQL, `pg_type.dat`."""

import datetime as dt
import decimal
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa

from command_line.counts import counted
from pipeline.reading.sql_server.literals import TEXT
from pipeline.reading.sql_server.wire import Column, Refused

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_YEAR_2000_US: Final = 946_684_800_000_000
_YEAR_2000_DAYS: Final = 10_957
_BASE: Final = 10_000
Encoder = Callable[[Any], bytes]


class PgType(NamedTuple):
    """A type of PostgreSQL: its number, its size in bytes, and encoders for text and binary form."""

    oid: int
    size: int
    text: Encoder
    binary: Encoder


def _packed(form: str) -> Encoder:
    return lambda value: struct.pack(f"!{form}", value)


def _plain(value: Any) -> bytes:
    return str(value).encode()


def _time_text(value: int, zone: dt.tzinfo = dt.UTC) -> bytes:
    """Encodes a time in microseconds since 1970 as PostgreSQL does: `2024-05-01 14:00:00.25+02`."""
    time = (_EPOCH + dt.timedelta(microseconds=value)).astimezone(zone)
    text = f"{time:%H:%M:%S.%f}".rstrip("0").rstrip(".") if time.microsecond else f"{time:%H:%M:%S}"
    return f"{time.date()} {text}{time.isoformat(timespec='seconds')[19:].removesuffix(':00')}".encode()


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


_TEXT: Final = PgType(TEXT, -1, _text_of, _text_of)
_TIME: Final = PgType(1184, 8, _time_text, lambda value: struct.pack("!q", value - _YEAR_2000_US))
_DATE: Final = PgType(
    1082, 4, _plain, lambda value: struct.pack("!i", (value - dt.date(1970, 1, 1)).days - _YEAR_2000_DAYS)
)
_KINDS: Final[Sequence[tuple[Callable[[pa.DataType], bool], PgType]]] = (
    (pa.types.is_boolean, PgType(16, 1, lambda value: b"t" if value else b"f", _packed("?"))),
    (lambda kind: kind in (pa.int8(), pa.uint8(), pa.int16()), PgType(21, 2, _plain, _packed("h"))),
    (lambda kind: kind in (pa.uint16(), pa.int32()), PgType(23, 4, _plain, _packed("i"))),
    (lambda kind: kind in (pa.uint32(), pa.int64()), PgType(20, 8, _plain, _packed("q"))),
    (pa.types.is_float32, PgType(700, 4, _plain, _packed("f"))),
    (pa.types.is_float64, PgType(701, 8, _plain, _packed("d"))),
    (pa.types.is_decimal, PgType(1700, -1, _plain, _decimal_binary)),
    (lambda kind: kind == pa.uint64(), PgType(1700, -1, _plain, lambda value: _decimal_binary(decimal.Decimal(value)))),
    (pa.types.is_date, _DATE),
    (pa.types.is_time, PgType(1083, 8, lambda value: _clock_text(value).encode(), _packed("q"))),
    (pa.types.is_interval, PgType(1186, 16, _interval_text, _interval_binary)),
    (pa.types.is_binary, PgType(17, -1, lambda value: b"\\x" + value.hex().encode(), bytes)),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, _TIME),
    (pa.types.is_timestamp, _TIME._replace(oid=1114, text=lambda value: _time_text(value).removesuffix(b"+00"))),
)


def kind_of(field: pa.DataType) -> PgType:
    """Returns the type of PostgreSQL for a type of Arrow; text if there is no equivalent."""
    return next((kind for fits, kind in _KINDS if fits(field)), _TEXT)


def columns_of(schema: pa.Schema) -> list[Column]:
    """Returns the columns as sent to clients."""
    kinds = (kind_of(field.type) for field in schema)
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
    kind = kind_of(column.type)
    encode = kind.binary if is_binary else kind.text
    if pa.types.is_time(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_timestamp(column.type):
        if column.type.tz and not is_binary:
            encode = partial(_time_text, zone=ZoneInfo(column.type.tz))
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    return [None if value is None else encode(value) for value in column.to_pylist()]
