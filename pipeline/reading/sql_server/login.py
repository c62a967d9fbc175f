"""The start of a connection: the version of the protocol, and authentication."""

import secrets
import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import SecretStr

from pipeline.errors import SetUpError
from pipeline.reading.sql_server.answers import VERSION
from pipeline.reading.sql_server.scram import MECHANISM, Scram
from pipeline.reading.sql_server.wire import LONGEST_BEFORE_LOGIN, Body, Message, Refused, Wire

_PROTOCOL: Final = 3
_ENCRYPTION_REQUESTS: Final = (80877103, 80877104)
_CANCEL: Final = 80877102
_SHORTEST: Final = 16
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_PARAMETERS: Final = {
    "server_version": VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "default_transaction_read_only": "on",
}


class Ticket(NamedTuple):
    """The secret by which another connection may cancel a client's query."""

    process: int
    secret: int

    @classmethod
    def new(cls) -> "Ticket":
        """Returns a random ticket."""
        return cls(secrets.randbits(31), secrets.randbits(31))

    @property
    def packed(self) -> bytes:
        """The bytes that a client is sent."""
        return struct.pack("!ii", *self)


@dataclass(frozen=True, slots=True)
class Access:
    """The credentials of clients. Without a password, anyone who reaches the port may log in."""

    user: str
    password: SecretStr | None

    def require_for(self, host: str) -> None:
        """Raises SetUpError if the password is short, or missing at an address that other machines reach."""
        if self.password is None and host not in _LOOPBACK:
            raise SetUpError(
                f"--host {host} is reached from other machines, and the tables contain user activity: set "
                "TIDEMARK_SQL_PASSWORD or --password-file, or listen on 127.0.0.1"
            )
        if self.password is not None and len(self.password.get_secret_value()) < _SHORTEST:
            raise SetUpError(f"the password is too short: use at least {_SHORTEST} characters, chosen at random")


def log_in(wire: Wire, access: Access, ticket: Ticket) -> Ticket | None:
    """Authenticates a client and returns `ticket`, after sending it to the client.

    Returns another client's ticket if this client asks to cancel that query, None if it has disconnected.
    Raises Refused if authentication fails.
    """
    start = _start(wire)
    if start is None:
        return None
    version = start.number()
    if version == _CANCEL:
        return Ticket(start.number(), start.number())
    if version >> 16 != _PROTOCOL:
        raise Refused("08P01", f"version {version >> 16} of the protocol is not supported: use version {_PROTOCOL}")
    if access.password is not None:
        _require_proof(wire, access.user, access.password.get_secret_value(), _user(start))
    wire.send(b"R", struct.pack("!i", 0))
    for name, value in _PARAMETERS.items():
        wire.send(b"S", f"{name}\0{value}\0".encode())
    wire.send(b"K", ticket.packed)
    return ticket


def _start(wire: Wire) -> Body | None:
    """Returns the start message, after refusing encryption; None if the client has disconnected."""
    for _ in range(3):
        body = wire.read_start()
        if body is None:
            return None
        start = body.rest()
        if int.from_bytes(start[:4], "big") not in _ENCRYPTION_REQUESTS:
            return Body(start)
        wire.connection.sendall(b"N")
    raise Refused("08P01", "encryption is not supported: connect without it")


def _user(start: Body) -> str:
    parameters = {}
    while name := start.text():
        parameters[name] = start.text()
    return parameters.get("user", "")


def _require_proof(wire: Wire, user: str, password: str, named: str) -> None:
    """Raises Refused unless the client proves that it knows the password."""
    wire.send(b"R", struct.pack("!i", 10), MECHANISM.encode() + b"\0\0")
    scram = Scram(password, known=named == user)
    first = _password_message(wire)
    mechanism, size = first.text(), first.number()
    challenge = scram.challenge(_ascii(first.take(size))) if mechanism == MECHANISM else None
    if challenge is not None:
        wire.send(b"R", struct.pack("!i", 11), challenge.encode())
        proof = scram.final(_ascii(_password_message(wire).rest()))
        if proof is not None:
            wire.send(b"R", struct.pack("!i", 12), proof.encode())
            return
    raise Refused("28P01", "wrong user or password")


def _password_message(wire: Wire) -> Body:
    wire.flush()
    message: Message | None = wire.read(LONGEST_BEFORE_LOGIN)
    if message is None or message.type != b"p":
        raise Refused("08P01", "expected a password")
    return message.body


def _ascii(text: bytes) -> str:
    return text.decode("ascii", errors="replace")
