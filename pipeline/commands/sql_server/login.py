"""How a connection begins: what the client speaks, and who it is."""

import secrets
import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import SecretStr

from pipeline.commands.sql_server.answers import VERSION
from pipeline.commands.sql_server.scram import MECHANISM, Scram
from pipeline.commands.sql_server.wire import LONGEST_BEFORE_LOGIN, Body, Message, Refused, Wire
from pipeline.errors import SetUpError

_PROTOCOL: Final = 3
_ENCRYPTED: Final = (80877103, 80877104)
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
    """By which another connection may cancel what a client has asked."""

    process: int
    secret: int

    @classmethod
    def new(cls) -> "Ticket":
        """A ticket that nobody can guess."""
        return cls(secrets.randbits(31), secrets.randbits(31))

    @property
    def packed(self) -> bytes:
        """As it is sent."""
        return struct.pack("!ii", *self)


@dataclass(frozen=True, slots=True)
class Access:
    """Who is let in: without a password anyone who reaches the port."""

    user: str
    password: SecretStr | None

    def require_for(self, host: str) -> None:
        """Raises SetUpError where the password is short, or missing at an address that other machines reach."""
        if self.password is None and host not in _LOOPBACK:
            raise SetUpError(
                f"--host {host} is reached from other machines, and the tables say who did what: set "
                "TIDEMARK_SQL_PASSWORD or --password-file, or listen on 127.0.0.1"
            )
        if self.password is not None and len(self.password.get_secret_value()) < _SHORTEST:
            raise SetUpError(f"the password is short: take at least {_SHORTEST} characters, by chance")


def log_in(wire: Wire, access: Access, ticket: Ticket) -> Ticket | None:
    """Lets a client in, who gets the ticket; or returns that of a query to cancel, or None where the client has gone.

    Raises Refused for one that is not let in.
    """
    start = _start(wire)
    if start is None:
        return None
    version = start.number()
    if version == _CANCEL:
        return Ticket(start.number(), start.number())
    if version >> 16 != _PROTOCOL:
        raise Refused("08P01", f"version {version >> 16} of the protocol is not spoken here, but version {_PROTOCOL}")
    if access.password is not None:
        _prove(wire, access.user, access.password.get_secret_value(), _user(start))
    wire.send(b"R", struct.pack("!i", 0))
    for name, value in _PARAMETERS.items():
        wire.send(b"S", f"{name}\0{value}\0".encode())
    wire.send(b"K", ticket.packed)
    return ticket


def _start(wire: Wire) -> Body | None:
    """The client's first words, after it was told that there is no encryption, for which it may ask twice."""
    for _ in range(3):
        body = wire.read_start()
        if body is None:
            return None
        start = body.rest()
        if int.from_bytes(start[:4], "big") not in _ENCRYPTED:
            return Body(start)
        wire.connection.sendall(b"N")
    raise Refused("08P01", "there is no encryption here")


def _user(start: Body) -> str:
    told = {}
    while name := start.text():
        told[name] = start.text()
    return told.get("user", "")


def _prove(wire: Wire, user: str, password: str, named: str) -> None:
    """Raises Refused unless the client shows that it knows the password."""
    wire.send(b"R", struct.pack("!i", 10), MECHANISM.encode() + b"\0\0")
    scram = Scram(password, known=named == user)
    first = _said(wire)
    mechanism, size = first.text(), first.number()
    challenge = scram.challenge(_ascii(first.take(size))) if mechanism == MECHANISM else None
    if challenge is not None:
        wire.send(b"R", struct.pack("!i", 11), challenge.encode())
        proof = scram.final(_ascii(_said(wire).rest()))
        if proof is not None:
            wire.send(b"R", struct.pack("!i", 12), proof.encode())
            return
    raise Refused("28P01", "user or password are not right")


def _said(wire: Wire) -> Body:
    wire.flush()
    message: Message | None = wire.read(LONGEST_BEFORE_LOGIN)
    if message is None or message.type != b"p":
        raise Refused("08P01", "no password came")
    return message.body


def _ascii(text: bytes) -> str:
    return text.decode("ascii", errors="replace")
