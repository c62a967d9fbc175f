"""Malformed values: what each kind does to the bytes of a well-formed one."""

import struct
from collections.abc import Callable

import numpy as np

from producers.arrays import Octets
from producers.encode import MAGIC
from producers.kinds import Kind

UNKNOWN_ID = 2**31 - 1
_HEADER = 5
_TWO_GIGABYTES = bytes.fromhex("fcffffff0f")  # 2**31 - 2 as an Avro long


def corrupt(values: list[bytes], kinds: Octets) -> list[bytes | None]:
    """The values to send: those of malformed kinds are broken, None is a tombstone.

    EMPTY_USER and ZERO_TIME are well-formed Avro; their fault is in the columns already.
    """
    sent: list[bytes | None] = list(values)
    for at in np.flatnonzero(kinds >= Kind.BAD_MAGIC):
        how = _HOW.get(Kind(kinds[at]))
        if how:
            sent[at] = how(values[at])
    return sent


_HOW: dict[Kind, Callable[[bytes], bytes | None]] = {
    Kind.BAD_MAGIC: lambda value: bytes([MAGIC + 1]) + value[1:],
    Kind.UNKNOWN_SCHEMA: lambda value: struct.pack(">bI", MAGIC, UNKNOWN_ID) + value[_HEADER:],
    # Inside the event id, the first field, so that no reader schema can do without the rest.
    Kind.TRUNCATED: lambda value: value[: _HEADER + 20],
    Kind.HUGE_STRING: lambda value: value[:_HEADER] + _TWO_GIGABYTES + value[_HEADER + 1 :],
    Kind.EMPTY_VALUE: lambda _: b"",
    Kind.TOMBSTONE: lambda _: None,
}
