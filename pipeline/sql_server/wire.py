"""Messages of PostgreSQL's protocol, version 3. Source: PostgreSQL, chapter "Frontend/Backend Protocol"."""

import socket
import ssl
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tidemark.command_line.counts import counted

LONGEST: Final = 1 << 20
"""Maximum size in bytes of a client's message."""
LONGEST_BEFORE_LOGIN: Final = 10_000
"""The limit of PostgreSQL itself."""
_WRITTEN_AT_ONCE: Final = 1 << 16


class Refused(Exception):
    """A client's message is refused: an error code of PostgreSQL and a sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Message(NamedTuple):
    """A message: its type, a letter, and its body."""

    type: bytes
    body: "Body"


class Column(NamedTuple):
    """The name of a column, the number of its type, and the size of a value in bytes (-1: variable)."""

    name: str
    oid: int
    size: int


def sized(value: bytes | None) -> bytes:
    """Returns a value after its size in bytes, which is -1 for null."""
    return struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value


class Body:
    """The fields of a message, read in order. Raises Refused if the message is too short."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        """Returns the next `size` bytes."""
        if size < 0 or self._at + size > len(self._data):
            raise Refused("08P01", "the message is shorter than its fields")
        self._at += size
        return self._data[self._at - size : self._at]

    def rest(self) -> bytes:
        """Returns the remaining bytes."""
        return self.take(len(self._data) - self._at)

    def number(self, format_code: str = "i") -> int:
        """Reads a number in network order: `h` of two bytes, `i` of four."""
        (value,) = struct.unpack(f"!{format_code}", self.take(struct.calcsize(format_code)))
        return int(value)

    def numbers(self, format_code: str) -> list[int]:
        """Reads a count of two bytes, and that many numbers."""
        return [self.number(format_code) for _ in range(self.number("h"))]

    def text(self) -> str:
        """Reads a text, which ends at a zero byte."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise Refused("08P01", "a text has no terminating zero byte")
        raw = self.take(end - self._at + 1)[:-1]
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise Refused("22021", "a text is not UTF-8") from error


@dataclass(slots=True)
class Wire:
    """The connection with a client. Messages are buffered until `flush`."""

    connection: socket.socket
    _waiting: bytearray

    def read(self, longest: int) -> Message | None:
        """Reads the next message; None if the client has disconnected. Raises Refused if it exceeds `longest` bytes."""
        head = self._exactly(5)
        if head is None:
            return None
        body = self._body(head[1:], longest)
        return None if body is None else Message(head[:1], body)

    def read_start(self) -> Body | None:
        """Reads the first message, which has no type; None if the client has disconnected."""
        head = self._exactly(4)
        return None if head is None else self._body(head, LONGEST_BEFORE_LOGIN)

    @property
    def encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return isinstance(self.connection, ssl.SSLSocket)

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Accepts a request for TLS. Uses a copy of the socket, because the caller may shut down its own meanwhile."""
        self.connection.sendall(b"S")
        self.connection = context.wrap_socket(self.connection.dup(), server_side=True)

    def send(self, kind: bytes, *parts: bytes) -> None:
        """Buffers a message."""
        body = b"".join(parts)
        self._waiting += kind + struct.pack("!i", len(body) + 4) + body
        if len(self._waiting) > _WRITTEN_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Sends the buffered messages."""
        self.connection.sendall(self._waiting)
        self._waiting.clear()

    def send_columns(self, columns: Sequence[Column], formats: Sequence[int]) -> None:
        """Buffers RowDescription, the columns of the rows that follow."""
        described = (
            column.name.encode() + b"\0" + struct.pack("!ihihih", 0, 0, column.oid, column.size, -1, form)
            for column, form in zip(columns, formats, strict=True)
        )
        self.send(b"T", struct.pack("!h", len(columns)), *described)

    def send_row(self, values: Iterable[bytes | None]) -> None:
        """Buffers DataRow."""
        parts = [*map(sized, values)]
        self.send(b"D", struct.pack("!h", len(parts)), *parts)

    def send_error(self, code: str, sentence: str, severity: str = "ERROR") -> None:
        """Buffers ErrorResponse."""
        fields = {b"S": severity, b"V": severity, b"C": code, b"M": sentence}
        self.send(b"E", *(name + text.replace("\0", "").encode() + b"\0" for name, text in fields.items()), b"\0")

    def _body(self, length: bytes, longest: int) -> Body | None:
        size = int.from_bytes(length, "big", signed=True) - 4
        if not 0 <= size <= longest:
            raise Refused("08P01", f"a message has {counted(size, 'byte')}; the limit is {longest}")
        data = self._exactly(size)
        return None if data is None else Body(data)

    def _exactly(self, size: int) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            piece = self.connection.recv(min(size - len(data), _WRITTEN_AT_ONCE))
            if not piece:
                return None
            data += piece
        return bytes(data)
