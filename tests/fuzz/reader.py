"""Avro binary read by the letter of its specification; bytes after the last field are ignored.

Source: Apache Avro specification 1.12, "Binary Encoding". The bits of a number beyond 64 are dropped.
"""

import json
from typing import Final

_MOST_GROUPS: Final = 10


class NotAvro(Exception):
    """The bytes are not what the schema says."""


class Reader:
    """Reads the records of one schema."""

    def __init__(self, schema: str) -> None:
        self._plan = [(field["name"], field["type"]) for field in json.loads(schema)["fields"]]

    def read(self, value: bytes, start: int) -> dict[str, object]:
        """Returns the fields, texts as bytes. Raises NotAvro."""
        cursor, found = _Cursor(value, start), dict[str, object]()
        for name, types in self._plan:
            kind = types[cursor.choice(len(types))] if isinstance(types, list) else types
            if kind == "string":
                found[name] = cursor.text()
            elif isinstance(kind, dict) and "symbols" in kind:
                found[name] = kind["symbols"][cursor.choice(len(kind["symbols"]))]
            elif isinstance(kind, dict) and "values" in kind:
                found[name] = cursor.texts()
            elif kind != "null":
                found[name] = cursor.number()
        return found


class _Cursor:
    """A place in the bytes of a value."""

    def __init__(self, value: bytes, start: int) -> None:
        self._value, self._at = value, start

    def number(self) -> int:
        """Reads a zigzag number."""
        value, at, raw, shift = self._value, self._at, 0, 0
        while True:
            if at >= len(value) or shift == 7 * _MOST_GROUPS:
                raise NotAvro
            byte = value[at]
            at, raw, shift = at + 1, raw | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
        self._at, raw = at, raw & 0xFFFFFFFFFFFFFFFF
        return (raw >> 1) ^ -(raw & 1)

    def choice(self, number: int) -> int:
        """Reads an index below this number."""
        index = self.number()
        if not 0 <= index < number:
            raise NotAvro
        return index

    def text(self) -> bytes:
        """Reads the bytes of a string."""
        length, start = self._size(self.number()), self._at
        self._at += length
        return self._value[start : self._at]

    def texts(self) -> dict[bytes, bytes]:
        """Reads a map of strings. The size in bytes that a block may have is not needed."""
        found = dict[bytes, bytes]()
        while count := self.number():
            if count < 0:
                self._size(self.number())
            for _ in range(self._size(abs(count))):
                name = self.text()
                found[name] = self.text()
        return found

    def _size(self, number: int) -> int:
        """Returns a number of bytes or values, of which the rest must be as many bytes long at least."""
        if not 0 <= number <= len(self._value) - self._at:
            raise NotAvro
        return number
