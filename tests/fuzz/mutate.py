"""Records broken in the ways that bytes break, seeded, some hundred thousand a second."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

NASTY: Final = tuple(
    map(
        bytes.fromhex,
        (
            *("00", "01", "02", "03", "7f", "80", "ff", "8000", "8100", "818000", "fe7f", "ff7f", "80808001"),
            *("ffffffff0f", "feffffff0f", "8080808008", "8080808010", "8080808070", "feff7f", "80808001"),
            *("feffffffffffffffff01", "ffffffffffffffffff01", "80808080808080808002", "80808080808080808080"),
            "ffffffffffffffffffffff",
        ),
    )
)
"""Numbers: small, negative, huge, longer than need be, never ending, with bits that have no place."""
_TEXTS: Final = (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x00", "é".encode(), b"\xe2\x82")
"""Texts: no UTF-8, overlong, half a surrogate pair, beyond Unicode, NUL, well-formed, cut off."""
_FRAME: Final = 5
Mutation = Callable[[bytes, Random], bytes]


def mutants(seeds: Sequence[bytes], number: int, seed: int) -> list[bytes]:
    """So many records, each made of one of the seeds by up to three mutations; about one in twelve is left as it is."""
    chance = Random(seed)
    draw, scale, kinds = chance.random, len(seeds), len(_MUTATIONS)
    found = []
    for _ in range(number):
        value = seeds[int(draw() * scale)]
        for _ in range(_TIMES[int(draw() * len(_TIMES))]):
            value = _MUTATIONS[int(draw() * kinds)](value, chance)
        found.append(value)
    return found


_TIMES: Final = (0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3)


def _place(value: bytes, chance: Random) -> int:
    """Anywhere, but mostly after the frame."""
    at = int(chance.random() * (len(value) + 1))
    return at if at >= _FRAME or chance.random() < 0.1 else min(_FRAME, len(value))


def _flip(value: bytes, chance: Random) -> bytes:
    at = _place(value, chance)
    return (
        value[:at] + bytes([value[at] ^ 1 << int(chance.random() * 8)]) + value[at + 1 :] if at < len(value) else value
    )


def _overwrite(value: bytes, chance: Random) -> bytes:
    at = _place(value, chance)
    return value[:at] + bytes([int(chance.random() * 256)]) + value[at + 1 :]


def _truncate(value: bytes, chance: Random) -> bytes:
    return value[: _place(value, chance)]


def _extend(value: bytes, chance: Random) -> bytes:
    return value + chance.randbytes(int(chance.random() * 20))


def _insert(value: bytes, chance: Random) -> bytes:
    at = _place(value, chance)
    return value[:at] + chance.randbytes(1 + int(chance.random() * 3)) + value[at:]


def _delete(value: bytes, chance: Random) -> bytes:
    at = _place(value, chance)
    return value[:at] + value[at + 1 + int(chance.random() * 8) :]


def _repeat(value: bytes, chance: Random) -> bytes:
    at, end = sorted((_place(value, chance), _place(value, chance)))
    return value[:end] + value[at:end] + value[end:]


def _number(value: bytes, chance: Random) -> bytes:
    """A nasty number in the place of a byte, or next to it."""
    at = _place(value, chance)
    return value[:at] + NASTY[int(chance.random() * len(NASTY))] + value[at + int(chance.random() * 2) :]


def _text(value: bytes, chance: Random) -> bytes:
    """Bytes of a nasty text over others, so that lengths stay right."""
    at, text = _place(value, chance), _TEXTS[int(chance.random() * len(_TEXTS))]
    return value[:at] + text + value[at + len(text) :]


def _noise(value: bytes, chance: Random) -> bytes:
    return chance.randbytes(len(value))


def _noise_in_frame(value: bytes, chance: Random) -> bytes:
    return value[:_FRAME] + chance.randbytes(max(0, len(value) - _FRAME))


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    *(_flip, _overwrite, _truncate, _extend, _insert, _delete, _repeat),
    *(_number, _number, _text, _text, _noise, _noise_in_frame),
)
