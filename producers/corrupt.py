"""Malformed values: how each kind changes the bytes of a well-formed value."""

import struct
from collections.abc import Callable

import numpy as np

from tidemark.producers.arrays import Octets
from tidemark.producers.encode import MAGIC
from tidemark.producers.kinds import Kind

UNKNOWN_ID = 2**31 - 1
_HEADER = 5
_TWO_GIGABYTES = bytes.fromhex("fcffffff0f")  # 2**31 - 2 as an Avro long


def corrupt(values: list[bytes], kinds: Octets) -> list[bytes | None]:
    """Returns the values to send: values of malformed `kinds` are broken, None is a tombstone.

    EMPTY_USER and ZERO_TIME are well-formed; the fault is already in their columns. A value in JSON is broken at the
    same bytes, and no longer JSON, also after a frame.
    """
    sent: list[bytes | None] = list(values)
    for index in np.flatnonzero(kinds >= Kind.BAD_MAGIC):
        change = _CHANGES.get(Kind(kinds[index]))
        if change:
            sent[index] = change(values[index])
    return sent


_CHANGES: dict[Kind, Callable[[bytes], bytes | None]] = {
    Kind.BAD_MAGIC: lambda value: bytes([MAGIC + 1]) + value[1:],
    Kind.UNKNOWN_SCHEMA: lambda value: struct.pack(">bI", MAGIC, UNKNOWN_ID) + value[_HEADER:],
    # Within the event id, the first field, so that every reader schema needs the missing rest.
    Kind.TRUNCATED: lambda value: value[: _HEADER + 20],
    Kind.HUGE_STRING: lambda value: value[:_HEADER] + _TWO_GIGABYTES + value[_HEADER + 1 :],
    Kind.EMPTY_VALUE: lambda _: b"",
    Kind.TOMBSTONE: lambda _: None,
}
