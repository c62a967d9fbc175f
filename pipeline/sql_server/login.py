"""The start of a connection: the version of the protocol, and authentication."""

import re
import secrets
import ssl
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import SecretStr

from tidemark.http_server.served_certificate import tls_context
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.sql_server.scram import MECHANISM, Scram
from tidemark.pipeline.sql_server.wire import LONGEST_BEFORE_LOGIN, Body, Message, Refused, Wire

_PROTOCOL: Final = 3
_TLS_REQUEST, _GSSAPI_REQUEST = 80877103, 80877104
_CANCEL: Final = 80877102
_SHORTEST: Final = 16
_NOT_SETTINGS: Final = ("user", "database", "options")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


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


class Arrival(NamedTuple):
    """A client: its ticket, or another client's that it asks to cancel, and the settings of its start message."""

    ticket: Ticket
    settings: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials that clients need, and TLS. Without a password, anyone who reaches the port may log in."""

    user: str
    password: SecretStr | None
    tls: ssl.SSLContext | None = None

    @classmethod
    def of(cls, user: str, password: SecretStr | None, files: tuple[Path, Path] | None) -> "Access":
        """`files` are a certificate and its key. Raises SetUpError if they cannot be used."""
        if files is None:
            return cls(user, password)
        try:
            return cls(user, password, tls_context(*files))
        except OSError as error:
            raise SetUpError(f"--tls {files[0]} {files[1]} cannot be used: {error}") from error

    def require_for(self, host: str) -> None:
        """Raises SetUpError if the password is short, or missing at an address that other machines reach."""
        if self.password is None and host not in _LOOPBACK:
            raise SetUpError(
                f"--host {host} is reached from other machines, and the tables contain user activity: set "
                "TIDEMARK_SQL_PASSWORD or --password-file, or listen on 127.0.0.1"
            )
        if self.password is not None and len(self.password.get_secret_value()) < _SHORTEST:
            raise SetUpError(f"the password is too short: use at least {_SHORTEST} characters, chosen at random")


def log_in(wire: Wire, access: Access, ticket: Ticket) -> Arrival | None:
    """Authenticates a client and returns it with `ticket`, after sending that to the client.

    Returns another client's ticket if this client asks to cancel that query, None if it has disconnected.
    Raises Refused if authentication fails.
    """
    start = _start(wire, access.tls)
    if start is None:
        return None
    version = start.number()
    if version == _CANCEL:
        return Arrival(Ticket(start.number(), start.number()))
    if version >> 16 != _PROTOCOL:
        raise Refused("08P01", f"version {version >> 16} of the protocol is not supported: use version {_PROTOCOL}")
    if access.tls and not wire.encrypted:
        raise Refused("28000", "this server requires TLS: connect with sslmode=require, or better verify-full")
    parameters = _parameters(start)
    if access.password is not None:
        _require_proof(wire, access.user, access.password.get_secret_value(), parameters.get("user", ""))
    wire.send(b"R", struct.pack("!i", 0))
    wire.send(b"K", ticket.packed)
    return Arrival(ticket, settings_of(parameters))


def settings_of(parameters: Mapping[str, str]) -> dict[str, str]:
    r"""Returns the settings among the parameters of a start message, with those of `options`. Raises Refused.

    >>> settings_of({"user": "ann", "options": "-c timezone=UTC --application-name=a\\ b", "datestyle": "ISO"})
    {'timezone': 'UTC', 'application_name': 'a b', 'datestyle': 'ISO'}
    """
    words = [re.sub(r"\\(.)", r"\1", word) for word in re.findall(r"(?:\\.|[^\s\\])+", parameters.get("options", ""))]
    options = re.sub(r"(^|\0)-c\0", r"\1-c", "\0".join(words)).split("\0") if words else []
    settings = {}
    for option in options:
        match = re.fullmatch(r"(?:-c|--)([\w.-]+)=(.*)", option, re.DOTALL)
        if match is None:
            raise Refused("42601", f"the option {option!r} is not understood: use -c name=value")
        settings[match[1].replace("-", "_")] = match[2]
    named = {name: value for name, value in parameters.items() if name not in _NOT_SETTINGS}
    return {**settings, **named}


def _start(wire: Wire, tls: ssl.SSLContext | None) -> Body | None:
    """Returns the start message, after encrypting the connection if asked; None if the client has disconnected."""
    for _ in range(3):
        body = wire.read_start()
        if body is None:
            return None
        start = body.rest()
        request = int.from_bytes(start[:4], "big")
        if request not in (_TLS_REQUEST, _GSSAPI_REQUEST):
            return Body(start)
        if request == _TLS_REQUEST and tls and not wire.encrypted:
            wire.encrypt(tls)
        else:
            wire.connection.sendall(b"N")
    raise Refused("08P01", "the client requested encryption again and again")


def _parameters(start: Body) -> dict[str, str]:
    parameters = {}
    while name := start.text():
        parameters[name] = start.text()
    return parameters


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
