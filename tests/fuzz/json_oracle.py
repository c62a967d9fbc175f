"""The oracle of JSON events: reads fields of a value with Python's own parser."""

import json
import math
import re
from collections.abc import Sequence
from decimal import Context
from typing import Any, Final

_MOST_DEPTH: Final = 500
_MOST_CHARACTERS: Final = 100
_MOST_DIGITS: Final = 19
_FRAME: Final = 5
_MARK: Final = b"\xef\xbb\xbf"
_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE](?P<exponent>[-+]?[0-9]+))?")
_OF_JAVA: Final = range(-(2**31), 2**31)
"""The exponents and scales of Java's decimals: a time with another one is no time, also where it would round to 0."""
_EXACT: Final = Context(prec=1_000, Emin=-(10**17), Emax=10**17)
NOT_UTF8: Final = b"\xff"


class NotJson(Exception):
    """The bytes are no object or array of JSON."""


class Whole(str):
    """A number without fraction and exponent, as it is written."""

    __slots__ = ()


class Fraction(str):
    """Another number, as it is written."""

    __slots__ = ()


def event_of(value: bytes) -> Any:
    """Returns a value, with its numbers as they are written; the last of several equal names counts."""
    try:
        text = _body(value).decode()
        event = json.loads(text, parse_int=Whole, parse_float=Fraction, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NotJson from error
    if not isinstance(event, dict | list) or _depth(text) > _MOST_DEPTH:
        raise NotJson
    return event


def at(event: Any, path: Sequence[str]) -> Any:
    """Returns the value at a path, None if it is missing."""
    for name in path:
        if type(event) is str:
            event = _inside(event)
        if isinstance(event, list):
            event = _in_list(event, name)
        else:
            event = event.get(name) if isinstance(event, dict) else None
    return event


def _inside(text: str) -> Any:
    """Returns the object or array that a text is, else None."""
    try:
        value = text.encode()
        return event_of(value) if re.match(rb"[ \t\r\n]*[\[{]", value) else None
    except (NotJson, UnicodeEncodeError):
        return None


def _in_list(items: list[Any], name: str) -> Any:
    """Returns the item at an index, or the value of the last item with a key."""
    if re.fullmatch("0|[1-9][0-9]*", name):
        return items[int(name)] if int(name) < len(items) else None
    of_key = [item for item in items if isinstance(item, dict) and type(key := item.get("key")) is str and key == name]
    return of_key[-1].get("value") if of_key else None


def text_of(value: Any) -> bytes | None:
    """Returns what a field without a type is: text, a number as it is written, or true and false."""
    if value is None or isinstance(value, dict | list):
        return None
    return _encoded(str(value).lower() if isinstance(value, bool) else value)


def id_of(value: Any) -> bytes | None:
    """Returns a text or whole number as text."""
    return _encoded(value) if isinstance(value, str) and not isinstance(value, Fraction) else None


def millis_of(value: Any, power: int) -> int | None:
    """Returns a time in milliseconds without a fraction, None if it is no number or a text that is one."""
    if not _is_number(value):
        return None
    if _exponent(value) not in _OF_JAVA:
        return None
    number = _EXACT.create_decimal(value)
    scale = -int(number.as_tuple().exponent)
    if scale not in _OF_JAVA or (number and scale - power not in _OF_JAVA):
        return None
    number = _EXACT.scaleb(number, power)
    millis = int(number) if number.adjusted() <= _MOST_DIGITS else 2**63
    return millis if -(2**63) <= millis < 2**63 else None


def number_of(value: Any) -> float | None:
    """Returns a finite number."""
    number = float(value) if _is_number(value) else math.nan
    return number if math.isfinite(number) else None


def _exponent(number: str) -> int:
    match = _NUMBER.fullmatch(number)
    return int(match["exponent"] or 0) if match else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_CHARACTERS and _NUMBER.fullmatch(value) is not None


def _body(value: bytes) -> bytes:
    if len(value) >= _FRAME and value[:1] == b"\0":
        is_long = len(value) >= _FRAME + 4 and value[:_FRAME] == bytes(_FRAME)
        value = value[_FRAME + 4 * is_long :]
    return value.removeprefix(_MARK)


def _refuse(name: str) -> None:
    raise ValueError(name)


def _encoded(text: str) -> bytes:
    try:
        return str(text).encode()
    except UnicodeEncodeError:
        return NOT_UTF8


def _depth(text: str) -> int:
    """Returns how deeply a valid value is nested."""
    depth = deepest = 0
    for bracket in re.findall(r'"(?:\\.|[^"\\])*"|[\[\]{}]', text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(bracket, 0)
        deepest = max(deepest, depth)
    return deepest
