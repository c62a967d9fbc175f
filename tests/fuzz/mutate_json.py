"""JSON broken in the ways that text and bytes break, seeded."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from tests.fuzz.mutate import mutants

_TEXTS: Final = (
    *("{", "}", "[", "]", ",", ":", '"', "\\", " ", "\n", "\t", "\r", "\f", "\0", "\x1f", "\x7f", "//", "/**/", "#"),
    *("null", "true", "false", "NaN", "Infinity", "-Infinity", "nul", "True", "'a'"),
    *("0", "-0", "00", "01", "1.", ".5", "-", "+1", "1e5", "1E+5", "1e", "0x10", "1_0", "1e999", "-1e-999", "0e9"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" * 99, "1" * 101, "0." + "3" * 90),
    *("1e99999999999", "1790820000000.999", "1.79082e12", '"1790820000000"', '" 5"', '"5 "', '"1e3"', '""', '"\u0663"'),
    *(r"\u0041", r"\ud83d", r"\ud83d\ude00", r"\ude00", r"\u12", r"\x41", r"\/", r"\b", r"\"", r"\\", r"\u0000"),
    *('"user"', '"id"', '"items"', '"at"', '"customer":', '"customer":{},', '"items":[],', '"price":"x",'),
    *('"extra":{"a":1,"a":2},', '"extra":[[]],', "{}", "[]", "[{}]", '{"id":7}', '{"id":null}', "\u00e9", "\u540d"),
    *("\U0001f600", "\u2028"),
)
_BYTES: Final = (
    *(b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82"),
    *(b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe", b"\0\0\0\0\1", b"\0\0\0\0\0\0\0\0\1"),
)
_TOKENS: Final = (*(text.encode() for text in _TEXTS), *_BYTES)
Mutation = Callable[[bytes, Random], bytes]


def json_mutants(seeds: Sequence[bytes], count: int, seed: int) -> list[bytes]:
    """Returns values of which two thirds have up to three random tokens, and a third broken bytes."""
    chance = Random(seed)
    broken = mutants(seeds, count // 3, seed)
    return broken + [_changed(chance.choice(seeds), chance) for _ in range(count - len(broken))]


def _changed(value: bytes, chance: Random) -> bytes:
    for _ in range(chance.choice((0, 1, 1, 1, 1, 2, 3))):
        value = chance.choice(_MUTATIONS)(value, chance)
    return value


def _insert(value: bytes, chance: Random) -> bytes:
    at = chance.randint(0, len(value))
    return value[:at] + chance.choice(_TOKENS) + value[at:]


def _overwrite(value: bytes, chance: Random) -> bytes:
    at = chance.randint(0, len(value))
    return value[:at] + chance.choice(_TOKENS) + value[at + chance.randint(1, 6) :]


def _after_colon(value: bytes, chance: Random) -> bytes:
    """A token in the place of a value that has no comma inside."""
    colons = [at for at, byte in enumerate(value) if byte in b":"]
    if not colons:
        return value
    at = chance.choice(colons) + 1
    ends = [end for end in (value.find(mark, at) for mark in (b",", b"}", b"]")) if end > 0]
    return value[:at] + chance.choice(_TOKENS) + value[min(ends, default=len(value)) :]


def _before_name(value: bytes, chance: Random) -> bytes:
    """A token where a name or item may begin."""
    places = [at + 1 for at, byte in enumerate(value) if byte in b"{[,"]
    at = chance.choice(places) if places else 0
    return value[:at] + chance.choice(_TOKENS) + value[at:]


def _repeat(value: bytes, chance: Random) -> bytes:
    at, end = sorted((chance.randint(0, len(value)), chance.randint(0, len(value))))
    return value[:end] + value[at:end] + value[end:]


def _member_again(value: bytes, chance: Random) -> bytes:
    """All members once more, after a change."""
    inner = value.strip()[1:-1]
    again = _after_colon(inner, chance)
    return b"{" + again + b"," + inner + b"}"


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    *(_insert, _overwrite, _after_colon, _after_colon, _after_colon),
    *(_before_name, _repeat, _member_again),
)
