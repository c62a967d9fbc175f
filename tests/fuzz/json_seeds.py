"""Valid events in JSON, from which broken ones are made, and values at the bounds of what is read."""

import json
from collections.abc import Iterator
from typing import Any, Final

_NOW: Final = 1_790_820_000_000
_EVENTS: Final[tuple[Any, ...]] = (
    {"customer": {"id": "ann"}, "meta": {"at": _NOW}, "act": "view"},
    {"customer": {"id": 7, "name": "böb 名前"}, "meta": {"at": "2026-10-01T00:00:00Z"}, "items": [{"id": 1}, "b"]},
    {"act": 'tap\n"quoted" \U0001f600', "price": 5.25, "new": True, "meta": {"at": _NOW / 1000, "x": [[], {}]}},
    {"price": "7.5", "new": None, "@odd name": -0.0, "items": [None, [1, 2], {"id": "x"}], "customer": None},
    [{"id": "in an array"}, 2],
    {"note": json.dumps({"user": {"id": "b\u00f6b"}}), "meta": json.dumps({"at": _NOW}), "customer": '{"id": 7}'},
    {"note": '{"user": "{\\\\"id\\\\":5}"}', "items": '[{"id": 1}, 5, {"key": "size", "value": 2}]'},
    {
        "params": [{"key": "page", "value": {"text": "/a"}}, {"value": 3, "key": "size"}, {"key": "page"}, 7],
        "items": [{"value": 4.5, "key": "size"}, {"key": "0", "value": {"id": "x"}}, {"key": ["size"], "value": 1}],
    },
    {"params": [{"value": {"text": "/b"}, "key": "page", "extra": [{"key": "page"}]}]},
    {"extra": {"deep": [{"er": [1, {"est": "\\"}]}]}, "customer": {"id": "a" * 300}, "meta": {"at": str(_NOW)}},
)
_FRAME: Final = b"\0\0\0\0\7"
_LONG_FRAME: Final = b"\0\0\0\0\0\0\0\0\7"
_MARK: Final = b"\xef\xbb\xbf"
_ENCODINGS: Final = ("utf-16", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


def json_seeds() -> list[bytes]:
    """Returns valid events, short and long."""
    texts = [json.dumps(event, ensure_ascii=escapes) for event in _EVENTS for escapes in (True, False)]
    spaced = [json.dumps(_EVENTS[1], indent=1), f" \r\n\t{json.dumps(_EVENTS[0])}\n "]
    return [*(text.encode() for text in (*texts, *spaced)), _FRAME + json.dumps(_EVENTS[0]).encode()]


def at_the_bounds() -> list[bytes]:
    """Returns values that are empty, deep, long, cut off, framed, followed by more, or in another encoding."""
    event = json.dumps(_EVENTS[0]).encode()
    starts = (_FRAME, _LONG_FRAME, _MARK, _FRAME + _MARK, _MARK + _MARK, b"\1", b"\0")
    return [
        *(b"", b" ", b"\0", b"{}", b"[]", b"7", b'"a"', b"null", _FRAME, _LONG_FRAME, _MARK),
        *(event[:end] for end in range(len(event))),
        *(event + rest for rest in (b"\n", b" x", event, b"\0", b"//")),
        *(start + event for start in starts),
        *(event.decode().encode(name) for name in _ENCODINGS),
        *_deep(),
        *_long(),
        *(b'{"meta":{"at":%s}}' % number.encode() for number in _exponents()),
    ]


def _exponents() -> Iterator[str]:
    """Yields numbers with exponents next to those that Java's decimals can have."""
    exponents = (2**31 - 4, 2**31 - 1, 2**31, 2**31 + 6, 10**10 - 1, 10**10, 99_920_000_000, 10**30)
    for exponent in exponents:
        for digits in ("1", "0", "0.00001", "100000"):
            yield from (f"{digits}e{sign}{exponent}" for sign in "+-")


def _deep() -> Iterator[bytes]:
    for depth in (499, 500, 501, 100_000):
        yield b"[" * depth + b"]" * depth
    for depth in (500, 501):
        yield b'{"a":' * depth + b"1" + b"}" * depth


def _long() -> Iterator[bytes]:
    yield b'{"customer":{"id":"' + b"x" * 3_000_000 + b'"}}'
    yield b'{"customer":{"id":' + b"1" * 1_000_000 + b"}}"
    yield b'{"x":' + b"9" * 2_000_000 + b"}"
    yield b'{"x":"' + b"\\u00e9" * 500_000 + b'","act":"\\n' + b"y" * 1_000_000 + b'"}'
    yield b"[" + b"0," * 500_000 + b"0]"
    yield b'{"' + b"n" * 999 + b'":1}'
