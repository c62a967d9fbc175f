"""`tidemark sql-server --tls`: what clients say is encrypted, by whatever certificate is newest."""

import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.pq import DiagnosticField

from tests.query.sql_clients import address, needs_psql, psql, serving
from tests.support.certificates import Authority, Pair
from tests.support.waiting import PATIENCE_S
from tests.verify.site import Site
from tidemark.pipeline.cli import main

pytestmark = pytest.mark.slow
TLS_REQUEST = struct.pack("!ii", 8, 80877103)
START = struct.pack("!ii", 9, 3 << 16) + b"\0"


class Encrypted(NamedTuple):
    """A server with TLS; `trusting` are the options of a client that verifies its certificate."""

    port: int
    authority: Authority
    trusting: dict[str, Any]


@pytest.fixture(scope="module")
def encrypted(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder, "authority")
    pair = authority.sign("server")
    with serving(site, folder, "--tls", str(pair.certificate), str(pair.key)) as (port, _):
        yield Encrypted(port, authority, {"sslmode": "verify-full", "sslrootcert": str(authority.file)})


def test_a_client_verifies_the_certificate_and_may_cancel(encrypted: Encrypted) -> None:
    with psycopg.connect(address(encrypted.port), autocommit=True, **encrypted.trusting) as connection:
        assert connection.pgconn.ssl_in_use
        rows = connection.execute("SELECT repeat('x', 1000) FROM range(1000)").fetchall()
        assert rows == [("x" * 1000,)] * 1000
        asked = b"SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range % 7 = b.range % 11"
        connection.pgconn.send_query(asked)
        connection.pgconn.flush()
        while connection.pgconn.is_busy():
            connection.cancel()  # this older way is never encrypted
            connection.pgconn.consume_input()
        result = connection.pgconn.get_result()
        assert result is not None
        assert result.error_field(DiagnosticField.SQLSTATE) == b"57014"
        assert connection.pgconn.get_result() is None


@needs_psql
def test_psql_connects(encrypted: Encrypted) -> None:
    environment = {f"PG{name.upper()}": value for name, value in encrypted.trusting.items()}
    assert psql(encrypted.port, "SELECT 1", **environment) == ["1"]


def test_a_client_without_tls_is_refused_before_its_password(encrypted: Encrypted) -> None:
    with pytest.raises(psycopg.OperationalError, match="this server requires TLS"):
        psycopg.connect(address(encrypted.port), sslmode="disable")


def test_a_server_without_a_certificate_refuses_tls(server: tuple[int, object]) -> None:
    with pytest.raises(psycopg.OperationalError, match="server does not support SSL"):
        psycopg.connect(address(server[0]), sslmode="require")


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(TLS_REQUEST + START, id="a start message before the handshake"),
        pytest.param(TLS_REQUEST + TLS_REQUEST, id="a second request instead of the handshake"),
        pytest.param(TLS_REQUEST + b"\x16\x03\x01\xff\xff" + b"\0" * 100, id="half a handshake"),
    ],
)
def test_bytes_around_the_handshake_are_never_read_as_messages(encrypted: Encrypted, sent: bytes) -> None:
    answer = b""
    with socket.create_connection(("127.0.0.1", encrypted.port), PATIENCE_S) as stranger, suppress(OSError):
        stranger.sendall(sent)
        stranger.shutdown(socket.SHUT_WR)
        while piece := stranger.recv(4096):
            answer += piece
    # A server that closes before it has read all of it may take back its answer.
    assert answer[:1] in (b"S", b"")
    assert b"FATAL" not in answer
    assert b"SCRAM" not in answer


def test_a_renewed_certificate_is_served(encrypted: Encrypted) -> None:
    before = presented(encrypted.port)
    pair = encrypted.authority.sign("server")
    after = presented(encrypted.port)
    assert after == ssl.PEM_cert_to_DER_cert(pair.certificate.read_text()) != before


def presented(port: int) -> bytes:
    """Returns the certificate that the server presents, as DER."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as plain:
        plain.sendall(TLS_REQUEST)
        assert plain.recv(1) == b"S"
        with context.wrap_socket(plain) as wrapped:
            return wrapped.getpeercert(binary_form=True) or b""


def test_files_that_are_no_pair_are_exit_code_2(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    authority = Authority(tmp_path, "authority")
    pair = Pair(authority.sign("server").certificate, authority.sign("other").key)
    arguments = ["sql-server", f"--warehouse={site.warehouse}", "--port=0"]
    assert main([*arguments, "--tls", str(pair.certificate), str(pair.key)]) == 2
    assert f"--tls {pair.certificate} {pair.key} cannot be used" in capsys.readouterr().err
    assert main([*arguments, "--tls", str(pair.certificate)]) == 2
