"""Reports of refused connections say what to do. The texts are librdkafka's own, of version 2.16."""

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation

from tests.support.certificates import Authority, Pair
from tests.support.waiting import PATIENCE_S
from tidemark.kafka_access import reasons
from tidemark.kafka_access.reasons import advertised_sentence, forbidden_sentence, is_refusal, refusal_sentence
from tidemark.kafka_access.settings import Access

BOOTSTRAP = "b:9093/bootstrap"
ALERT = f"ssl://{BOOTSTRAP}: Receive failed: error:0A000412:ssl/tls alert bad certificate: SSL alert number 42"
BY_PASSWORD = {
    "security": {"protocol": "SASL_SSL"},
    "sasl": {"mechanism": "SCRAM-SHA-512", "username": "ann", "password": "hunter2bqkz"},
}
BY_TOKEN = {
    "security": {"protocol": "SASL_SSL"},
    "sasl": {
        "mechanism": "OAUTHBEARER",
        "token_url": "https://login.example/token",
        "client_id": "ann",
        "client_secret": "hunter2bqkz",
    },
}
WITH_CERTIFICATE = {"security": {"protocol": "SSL"}, "tls": {"certificate": "client.pem", "key": "client.key"}}


def access(settings: dict[str, Any]) -> Access:
    return Access.model_validate(settings)


@pytest.mark.parametrize(
    ("settings", "text", "sentence"),
    [
        (
            BY_PASSWORD,
            (
                f"sasl_ssl://{BOOTSTRAP}: SASL authentication error: Authentication failed during authentication "
                "due to invalid credentials with SASL mechanism SCRAM-SHA-512 (after 422ms in state AUTH_REQ)"
            ),
            ("the broker at b:9093 rejects the password of ann: correct kafka.sasl.username or kafka.sasl.password"),
        ),
        (
            BY_PASSWORD,
            (
                f"sasl_ssl://{BOOTSTRAP}: SASL SCRAM-SHA-256 mechanism handshake failed: Broker: "
                "Unsupported SASL mechanism: broker's supported mechanisms: SCRAM-SHA-512,PLAIN,OAUTHBEARER"
            ),
            "the broker at b:9093 has other mechanisms: correct kafka.sasl.mechanism",
        ),
        (
            BY_PASSWORD,
            (
                f"sasl_plaintext://{BOOTSTRAP}: SASL SCRAM-SHA-512 mechanism handshake failed: Broker: Request "
                "not valid in current SASL state: broker's supported mechanisms:  (after 36ms in state AUTH_HANDSHAKE)"
            ),
            "the broker at b:9093 does not authenticate clients: correct kafka.security.protocol",
        ),
        (
            BY_PASSWORD,
            (
                f"sasl_ssl://{BOOTSTRAP}: SSL handshake failed: Disconnected: SSL connection closed by peer: "
                "connecting to a PLAINTEXT broker listener?"
            ),
            "the broker at b:9093 does not use TLS: correct kafka.security.protocol",
        ),
        (
            BY_TOKEN,
            'Failed to acquire SASL OAUTHBEARER token: {"error": "invalid_client"}',
            (
                "https://login.example/token issues no token: "
                "correct kafka.sasl.token_url, kafka.sasl.client_id or kafka.sasl.client_secret"
            ),
        ),
        (
            BY_TOKEN,
            "Failed to acquire SASL OAUTHBEARER token: SSL certificate problem: unable to get local issuer certificate",
            (
                "the certificate of https://login.example/token is not trusted (SSL certificate problem: unable to get "
                "local issuer certificate): add its authority to those of the system, or set https.ca.location in "
                "kafka.librdkafka and the truststore of Java's client (docs/security.md)"
            ),
        ),
        (
            BY_TOKEN,
            "Failed to acquire SASL OAUTHBEARER token: Could not resolve host: login.example",
            (
                "https://login.example/token cannot be reached (Could not resolve host: login.example): "
                "correct kafka.sasl.token_url"
            ),
        ),
        (
            WITH_CERTIFICATE,
            ALERT,
            (
                "the broker at b:9093 rejects the client's certificate, which may have expired or be "
                "signed by an authority that it does not trust: correct kafka.tls.certificate and kafka.tls.key"
            ),
        ),
        (
            {"security": {"protocol": "SSL"}},
            ALERT,
            ("the broker at b:9093 requires a client certificate: set kafka.tls.certificate and kafka.tls.key"),
        ),
    ],
)
def test_a_refusal_is_one_sentence_that_names_what_to_change(
    settings: dict[str, Any], text: str, sentence: str
) -> None:
    assert is_refusal(text)
    assert refusal_sentence(access(settings), text) == sentence


@pytest.mark.parametrize(
    "text",
    [
        "ssl://127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused",
        "1/1 brokers are down",
        f"sasl_ssl://{BOOTSTRAP}: Disconnected (after 30ms in state UP)",
    ],
)
def test_an_outage_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "kafka:9092/1: Failed to resolve 'kafka:9092': Name or service not known (after 0ms in state CONNECT)",
            "kafka:9092, which this machine does not reach (Failed to resolve 'kafka:9092': Name or service not known)",
        ),
        (
            "ssl://localhost:1/12: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)",
            "localhost:1, which this machine does not reach (Connection refused)",
        ),
        ("ssl://127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused", None),
        ("1/1 brokers are down", None),
    ],
)
def test_an_address_that_a_broker_advertises_is_named(text: str, found: str | None) -> None:
    assert advertised_sentence(text) == (
        found
        and f"a broker advertises the address {found}: correct advertised.listeners of that broker, or make the name "
        "known to this machine"
    )


def test_a_missing_right_is_reported_with_the_command_that_grants_it() -> None:
    assert forbidden_sentence(access(BY_PASSWORD), AclOperation.READ, "clicks") == (
        "ann may not read topic clicks: allow it, for example by "
        "`kafka-acls.sh --add --allow-principal User:ann --operation Read --topic clicks`"
    )


@contextmanager
def listening(pair: Pair) -> Iterator[str]:
    """Yields the address of a listener that presents the certificate `pair` to every client."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)

    def greet(server: socket.socket) -> None:
        line, _ = server.accept()
        try:
            context.wrap_socket(line, server_side=True).close()
        except OSError:  # the client hangs up when it does not like what it sees
            line.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        greeter = Thread(target=greet, args=(server,))
        greeter.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        greeter.join()


@pytest.mark.parametrize(
    ("signed", "trusted", "verify", "words"),
    [
        ({"valid": -timedelta(days=1)}, True, "full", "has expired: renew it"),
        ({}, False, "full", "no trusted authority signed .*: correct kafka.tls.ca"),
        ({"host": "192.0.2.1"}, True, "full", "is for another host: correct kafka.bootstrap_servers"),
        ({"host": "192.0.2.1", "valid": -timedelta(days=1)}, True, "ca", "has expired: renew it"),
        ({"valid": timedelta(days=20)}, True, "full", "is not valid yet: correct the clock of this machine"),
    ],
)
def test_the_fault_of_a_brokers_certificate_is_reported(
    signed: dict[str, Any], trusted: bool, verify: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reasons, "_VERIFY_S", PATIENCE_S)
    authority, stranger = Authority(tmp_path, "authority"), Authority(tmp_path, "stranger")
    tls = {"ca": authority.file if trusted else stranger.file, "verify": verify}
    with listening(authority.sign("broker", **signed)) as address:
        text = (
            f"ssl://{address}/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed"
        )
        assert re.search(words, refusal_sentence(access({"security": {"protocol": "SSL"}, "tls": tls}), text))
