"""Avro binary read by the letter of its specification, and where Avro's Java reader takes more than that.

Source: Apache Avro specification 1.12, "Binary Encoding"; `BinaryDecoder` of Avro's Java library for what it takes:

- A string that is not needed is skipped, without a check that it is UTF-8.
- A negative length of such a string counts as 0.
- The bits of a number beyond 32 or 64 are dropped.
- Bytes after the last field are ignored.
"""

import json
from collections.abc import Collection
from typing import Final

LONGEST_TEXT: Final = 1_048_576
"""The limit of `pipeline.runtime.spark`."""
_INT: Final = 5
_LONG: Final = 10


class NotAvro(Exception):
    """The bytes are not what the schema says."""


class Reader:
    """Reads the records of one schema; texts after the last needed field are skipped."""

    def __init__(self, schema: str, needed: Collection[str]) -> None:
        fields = json.loads(schema)["fields"]
        last = max(place for place, field in enumerate(fields) if field["name"] in needed)
        self._plan = [(field["name"], field["type"], place <= last) for place, field in enumerate(fields)]

    def read(self, value: bytes, start: int) -> dict[str, object]:
        """The needed fields; texts as bytes. Raises NotAvro."""
        cursor, found = _Cursor(value, start), dict[str, object]()
        for name, types, needed in self._plan:
            kind = types[cursor.choice(len(types))] if isinstance(types, list) else types
            if kind == "string" and needed:
                found[name] = cursor.text()
            elif kind == "string":
                cursor.skip()
            elif isinstance(kind, dict) and "symbols" in kind:
                found[name] = kind["symbols"][cursor.choice(len(kind["symbols"]))]
            elif kind != "null":
                found[name] = cursor.number(_LONG)
        return found


class _Cursor:
    """A place in the bytes of a value."""

    def __init__(self, value: bytes, start: int) -> None:
        self._value, self._at = value, start

    def number(self, longest: int) -> int:
        """Reads a zigzag number of at most this number of bytes."""
        value, at, raw, shift = self._value, self._at, 0, 0
        while True:
            if at >= len(value) or shift == 7 * longest:
                raise NotAvro
            byte = value[at]
            at, raw, shift = at + 1, raw | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
        self._at, raw = at, raw & (0xFFFFFFFF if longest == _INT else 0xFFFFFFFFFFFFFFFF)
        return (raw >> 1) ^ -(raw & 1)

    def choice(self, number: int) -> int:
        """Reads an index below this number."""
        index = self.number(_INT)
        if not 0 <= index < number:
            raise NotAvro
        return index

    def text(self) -> bytes:
        """The bytes of a string."""
        length, start = self.number(_LONG), self._at
        if not 0 <= length <= min(LONGEST_TEXT, len(self._value) - start):
            raise NotAvro
        self._at += length
        return self._value[start : self._at]

    def skip(self) -> None:
        """Past a string."""
        length = self.number(_LONG)
        self._at += max(length, 0)
        if self._at > len(self._value):
            raise NotAvro
