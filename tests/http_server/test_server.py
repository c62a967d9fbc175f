"""A server whose clients say nothing, too little, too much or too slowly, over real connections."""

import logging
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.support.certificates import Authority
from tests.support.flood import BEGUN, dripping, established, hostile, is_ended, open_files
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.http_server.background import Background
from tidemark.http_server.body import TooLarge, TooSlow, read_body
from tidemark.http_server.limits import Limits
from tidemark.http_server.listening import listen
from tidemark.http_server.server import _RATE_LIMIT, Server

pytestmark = pytest.mark.slow
HASTY = Limits(connections=20, header_s=0.3, request_s=0.3)
LONGER_THAN_ANY_TEST_S = 3600
PATIENT = Limits(connections=20, header_s=LONGER_THAN_ANY_TEST_S, request_s=LONGER_THAN_ANY_TEST_S)
MORE_THAN_BUFFERS = 20_000_000
LARGE = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n"


async def hello(_: Request) -> Response:
    return PlainTextResponse("hello")


async def large(_: Request) -> Response:
    return PlainTextResponse("x" * MORE_THAN_BUFFERS)


async def taking(request: Request) -> Response:
    try:
        return PlainTextResponse(str(len(await read_body(request, 10, float(request.query_params["within_s"])))))
    except TooLarge:
        return PlainTextResponse("too large", 413)
    except TooSlow:
        return PlainTextResponse("too slow", 408)


async def waiting(request: Request) -> Response:
    return Response(await request.body())


ROUTES = [
    Route("/", hello),
    Route("/large", large),
    Route("/taking", taking, methods=["POST"]),
    Route("/waiting", waiting, methods=["POST"]),
]


@contextmanager
def served(limits: Limits, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """The port of a server."""
    listening = listen("127.0.0.1", 0)
    port: int = listening.getsockname()[1]
    server = Server(Starlette(routes=ROUTES), limits, tls=tls, stop_s=1)
    with closing(Background(server, listening, "served")):
        wait_for(lambda: server.started, PATIENCE_S, "the server's start")
        yield port


def asked(port: int, path: str = "/") -> str:
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request("GET", path)
        return connection.getresponse().read().decode()


@contextmanager
def client(port: int, said: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as line:
        with suppress(OSError):  # a hasty server may have ended it
            line.sendall(said)
        yield line


@pytest.fixture(scope="module")
def hasty() -> Iterator[int]:
    with served(HASTY) as port:
        yield port


@pytest.mark.parametrize(
    "said",
    [
        b"",
        BEGUN,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",  # and then nothing more
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + BEGUN,
        b"POST /waiting HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\nx",  # answered before its body has come
    ],
)
def test_a_client_that_does_not_finish_is_cut_off(hasty: int, said: bytes) -> None:
    with client(hasty, said) as line:
        assert is_ended(line)


def test_a_client_that_goes_on_for_ever_is_cut_off(hasty: int) -> None:
    with client(hasty, BEGUN) as line:
        assert wait_for(lambda: not goes_on(line), PATIENCE_S, "the end of the connection")


def goes_on(line: socket.socket) -> bool:
    """Says one byte more; returns whether it could."""
    try:
        return line.send(b"x") == 1
    except ConnectionError:
        return False


def answered(port: int, lines: ExitStack) -> socket.socket | None:
    """Returns a connection whose large answer has begun; None if a hasty server ended it before."""
    line = lines.enter_context(client(port, LARGE))
    with suppress(OSError):
        return line if line.recv(1) else None
    return None


def test_a_client_that_reads_slowly_has_all_the_time_of_a_request_and_not_that_of_a_header() -> None:
    with served(replace(HASTY, request_s=LONGER_THAN_ANY_TEST_S)) as port, ExitStack() as lines:
        line = wait_for(lambda: answered(port, lines), PATIENCE_S, "an answer")
        with client(port, b"") as silent:
            assert is_ended(silent), "the time of a header is over"
        left = MORE_THAN_BUFFERS
        while left > 0 and (chunk := line.recv(1_000_000)):
            left -= len(chunk)
        assert left <= 0


def test_a_client_that_does_not_read_is_cut_off() -> None:
    with served(replace(PATIENT, request_s=0.3)) as port, client(port, b"") as line:
        of_server = (port, line.getsockname()[1])
        assert of_server in established()
        line.sendall(LARGE)
        wait_for(lambda: of_server not in established(), PATIENCE_S, "the end of the server's side")


@pytest.mark.parametrize(
    ("length", "body", "within_s", "status"),
    [
        (5, b"x" * 5, LONGER_THAN_ANY_TEST_S, b"200"),
        (99, b"x" * 11, LONGER_THAN_ANY_TEST_S, b"413"),
        (9, b"x", 0.2, b"408"),
    ],
)
def test_a_body_is_read_up_to_a_limit_of_bytes_and_seconds(
    length: int, body: bytes, within_s: float, status: bytes
) -> None:
    header = f"POST /taking?within_s={within_s} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    with served(PATIENT) as port, client(port, header.encode() + body) as line:
        assert line.recv(1000).split()[1] == status


def test_connections_are_bounded_and_who_finishes_is_answered_among_thousands_who_do_not() -> None:
    with served(PATIENT) as port:
        before = open_files()
        with dripping(port, 2_000) as clients:
            assert asked(port) == "hello"
            assert open_files() - before - len(clients) <= PATIENT.connections


def test_a_handshake_that_does_not_come_counts_as_a_connection_and_is_cut_off(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    pair = authority.sign("page")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    with served(PATIENT, context) as port:
        before = open_files()
        with dripping(port, 200, begun=b"\x16") as clients:
            trusting = ssl.create_default_context(cafile=authority.file)
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as plain:
                with trusting.wrap_socket(plain, server_hostname="127.0.0.1") as line:
                    line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    assert line.recv(1000).startswith(b"HTTP/1.1 200")
                assert open_files() - before - len(clients) <= PATIENT.connections + 3
    with served(HASTY, context) as port, client(port, b"\x16") as line:
        assert is_ended(line)


def test_thousands_of_hostile_requests_are_answered_or_ended_and_leave_few_lines_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = time.monotonic()
    monkeypatch.setattr(_RATE_LIMIT, "_clock", lambda: now_s)  # a slow machine would come into the next period
    with served(PATIENT) as port, caplog.at_level(logging.DEBUG, "uvicorn"):
        before = open_files()
        for said in hostile(2_000):
            with client(port, said) as line:
                line.shutdown(socket.SHUT_WR)
                assert is_ended(line), said
        assert asked(port) == "hello"
        wait_for(lambda: open_files() <= before, PATIENCE_S, "the end of all connections")
    assert len(caplog.records) < 30
