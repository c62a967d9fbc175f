"""Clients that mean harm: many connections that are opened and never finish what they say."""

import random
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.support.waiting import PATIENCE_S

_METHODS = b"GET POST PUT HEAD OPTIONS TRACE CONNECT get \x00".split(b" ")
_PATHS = b"/ /healthz /metrics /login /users?id= /events /reports/ /static/ // *".split()
_NAMES = (
    b"Host Content-Length Transfer-Encoding Authorization Cookie Origin Expect Range X-Forwarded-For Upgrade "
    b"Connection Accept Accept-Encoding User-Agent"
).split()
_NASTY = (
    *b"a/login? [ [::1 ../../.. %2e%2e%2f % %ff%00 '\"><script> {{7*7}} =cmd|calc!A0 -1 chunked [/x] :// @".split(),
    *(b"", b"\x00", b"\xff\xfe", b"\x1b[2J", b"\x9b", b"\r", b"\t", "\u202e".encode(), b"[link=http://x]"),
    *(b"x" * 20_000, b"9" * 400, b"?" * 99, b"a=b&" * 99, b"a," * 5_000),
)
BEGUN = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


def open_files() -> int:
    """The file descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def dripping(port: int, connections: int, begun: bytes = BEGUN) -> Iterator[list[socket.socket]]:
    """Opens connections that each send the start of a request and then single bytes, and never close."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as stack:
        clients = []
        for _ in range(connections):
            clients.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)))
            with suppress(OSError):
                clients[-1].sendall(begun)
        for client in clients:
            with suppress(OSError):
                client.sendall(b"x")
        yield clients


def is_ended(client: socket.socket) -> bool:
    """Waits until a server ends a connection, and returns whether it did within the socket's timeout."""
    try:
        while client.recv(65_536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def hostile(count: int, seed: int = 32) -> Iterator[bytes]:
    """Requests that no server should trust: broken, huge, nested, misnamed; the same ones for a seed."""
    chance = random.Random(seed)
    for _ in range(count):
        line = chance.choice(_METHODS) + b" " + chance.choice(_PATHS) + chance.choice([b"", *_NASTY]) + b" HTTP/1.1\r\n"
        headers = b"".join(
            chance.choice(_NAMES) + b": " + chance.choice(_NASTY) + b"\r\n" for _ in range(chance.randrange(4))
        )
        body = chance.choice([b"", b"{", b"[" * 5_000, b"token=" + b"x" * 5_000, chance.randbytes(40)])
        host = chance.choice([b"", b"Host: localhost\r\n"])
        whole = line + host + headers + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body
        yield chance.choice([whole, whole, whole[: chance.randrange(1, 200)], chance.randbytes(50)])


def established() -> set[tuple[int, int]]:
    """Returns the local and the remote port of each TCP connection of this machine that neither side has closed."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ports = ((int(row[1].split(":")[1], 16), int(row[2].split(":")[1], 16)) for row in rows if row[3] == "01")
    return {*ports}
