"""Ten thousand hostile messages to the SQL end point, before and after the log-in: each is refused, and it goes on."""

import random
import re
import socket
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from pydantic import SecretStr

from tests.support.regex_steps import regex_steps
from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Site
from tidemark.pipeline.sql_server import dialect, parameters
from tidemark.pipeline.sql_server.client import Client
from tidemark.pipeline.sql_server.database import Database
from tidemark.pipeline.sql_server.login import Access, Ticket, log_in
from tidemark.pipeline.sql_server.sql_metrics import SqlMetrics
from tidemark.pipeline.sql_server.wire import LONGEST, Refused, Wire

pytestmark = pytest.mark.slow
HOSTILE = 10_000
TYPES = b"QPBDECHSFdfcpX?\0"
PIECES = [
    *(b"SELECT ", b"$1", b"'", b'"', b"--", b"/*", b";", b"(", b")", b"\0", b"\xff", b"stored.panes", b"page_views"),
    *(
        b"pg_catalog.",
        b" FROM ",
        b"::regclass",
        b"1e999",
        b"TIMESTAMPTZ '290000-01-01'",
        b"EXPLAIN ",
        b"SET ",
        b"BEGIN",
    ),
]


SYNC = b"S" + struct.pack("!i", 4)
UNITS = (
    *("/* ", "/*'", "'\"", "--", "*/", "'", "a. ", "a =", "a = ANY ", ":: ", "$1"),
    *("pg_catalog.", "pg_catalog.a", "COLLATE "),
)
"""Texts whose repetition may make expressions backtrack."""


def hostile(chance: random.Random) -> bytes:
    """A message of a random type and body, often almost right."""
    body = b"".join(chance.choice([*PIECES, chance.randbytes(3)]) for _ in range(chance.randrange(8)))
    if chance.random() < 0.5:
        body += b"\0" + struct.pack("!h", chance.randrange(-2, 4)) + chance.randbytes(chance.randrange(6))
    return bytes([chance.choice(TYPES)]) + struct.pack("!i", len(body) + 4) + body


def talk(serve: Callable[[Wire], object], sent: bytes) -> bytes:
    """Returns the answer of `serve` to the bytes `sent` over a connection; raises its errors except refusals."""
    here, there = socket.socketpair()
    with ThreadPoolExecutor(2) as pool, here:
        answering = pool.submit(_answer, serve, there)
        pool.submit(_send, here, sent)
        heard = b"".join(iter(lambda: _receive(here), b""))
        answering.result()
    return heard


def _answer(serve: Callable[[Wire], object], connection: socket.socket) -> None:
    with connection, suppress(Refused, OSError):
        serve(Wire(connection, bytearray()))


def _send(connection: socket.socket, sent: bytes) -> None:
    with suppress(OSError):  # the other side has hung up
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except ConnectionResetError:  # it hung up before it had read all
        return b""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    folder = tmp_path_factory.mktemp("warehouse")
    play(Site(folder, PAGE_VIEWS_ALONE).open())
    return Database(str(folder), "200m")


def test_hostile_messages_end_in_refusals_and_the_next_one_is_answered(database: Database) -> None:
    chance = random.Random(32)
    messages = b"".join(message for message in (hostile(chance) for _ in range(HOSTILE)) if message[:1] != b"X")
    good = b"SELECT count(*) AS good FROM page_views\0"
    asked = messages + SYNC + b"Q" + struct.pack("!i", len(good) + 4) + good
    heard = talk(lambda wire: Client(wire, database, {}, SqlMetrics(lambda: 0)).serve(), asked)
    assert heard.count(b"SERROR\0") > HOSTILE / 100
    assert heard[:-1].endswith(b"SELECT 1\0Z\0\0\0\x05")
    assert b"good" in heard


def test_a_store_that_does_not_answer_one_client_does_not_block_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemark.pipeline.sql_server.database._PATIENCE_S", 0.1)
    statement = b"SELECT 1\0"
    asked = b"Q" + struct.pack("!i", len(statement) + 4) + statement
    metrics = SqlMetrics(lambda: 1)
    with database._lock:
        heard = talk(lambda wire: Client(wire, database, {}, metrics).serve(), asked)
    assert b"C58030\0" in heard
    assert metrics.registry.get_sample_value("tidemark_sql_statements_total", {"outcome": "store_failed"}) == 1
    assert b"another request has been waiting for the store" in heard


def test_hostile_starts_are_never_authenticated() -> None:
    chance, access = random.Random(32), Access("tidemark", SecretStr("sesame-of-forty-thieves"))
    for _ in range(HOSTILE // 10):
        start = chance.choice(
            [struct.pack("!i", 3 << 16) + b"user\0tidemark\0\0", chance.randbytes(chance.randrange(30))]
        )
        answers = b"".join(hostile(chance) for _ in range(3))
        sent = struct.pack("!i", len(start) + 4) + start + answers
        heard = talk(lambda wire: log_in(wire, access, Ticket.new()), sent)
        assert b"R\0\0\0\x08\0\0\0\0" not in heard


@pytest.mark.parametrize("pattern", [dialect._QUALIFIED, parameters._WORDS])
@pytest.mark.parametrize("unit", UNITS)
def test_no_expression_looks_at_a_character_of_a_statement_again_and_again(pattern: re.Pattern[str], unit: str) -> None:
    text = unit * 100
    assert regex_steps(pattern, "sub", text) <= 40 * len(text)


def bind(portal: bytes, value: bytes) -> bytes:
    """Returns the message that gives a value to the only parameter of the statement without a name."""
    body = portal + b"\0\0" + struct.pack("!hhi", 0, 1, len(value)) + value + struct.pack("!h", 0)
    return b"B" + struct.pack("!i", len(body) + 4) + body


def parse(statement: bytes, name: bytes = b"") -> bytes:
    body = name + b"\0" + statement + b"\0" + struct.pack("!h", 0)
    return b"P" + struct.pack("!i", len(body) + 4) + body


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(parse(b"SELECT " + b",".join([b"$1"] * 2_000)) + bind(b"", b"x" * 1_000), id="a value many times"),
        pytest.param(
            parse(b"SELECT $1") + b"".join(bind(b"%d" % portal, b"x" * (LONGEST // 2)) for portal in range(50)),
            id="many portals",
        ),
        pytest.param(
            b"".join(parse(b"SELECT '" + b"x" * (LONGEST // 2) + b"'", b"%d" % number) for number in range(50)),
            id="many statements",
        ),
    ],
)
def test_a_client_cannot_fill_the_memory_with_statements(database: Database, messages: bytes) -> None:
    heard = talk(lambda wire: Client(wire, database, {}, SqlMetrics(lambda: 0)).serve(), messages + SYNC)
    assert b"C53200\0" in heard or b"C54000\0" in heard
    stored = heard.count(b"1\0\0\0\x04") + heard.count(b"2\0\0\0\x04")
    assert stored <= 8 * 2 + 1
