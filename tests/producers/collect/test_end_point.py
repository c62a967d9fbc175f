"""The endpoint over real HTTP, with a real Kafka client without a broker: all that needs no broker."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from tests.producers.collect.collect_client import Asker, event, request_body, served
from tests.producers.collect.without_kafka import app, collector, outcomes
from tests.support.exposed_metrics import names_of
from tests.support.flood import dripping, hostile, is_ended, open_files
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.producers.collect import intake
from tidemark.producers.collect.contract import BODY_BYTES
from tidemark.producers.collect.request_metrics import Metrics, RequestOutcome
from tidemark.producers.collect.server import LIMITS
from tidemark.producers.collect.snippet import SNIPPET

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[3] / "docs" / "collecting.md"
BOUND_S = 240
"""Less than the five minutes after which Kafka's client gives up by its default."""
SPARE = 8
"""File descriptors that are the server's own: its loop's, and those of its threads and its Kafka client."""


@pytest.fixture(scope="module")
def ask() -> Iterator[Asker]:
    """A collector at work, for all that may be shared."""
    with served(app(collector())) as client_key:
        yield client_key


def test_an_address_with_too_many_requests_must_wait() -> None:
    with served(app(collector(rate=0.1))) as ask:
        answers = [ask.post(b"") for _ in range(3)]
    assert [one.status for one in answers] == [400, 429, 429]
    assert answers[-1].headers["retry-after"] == "10"


def test_what_an_address_sends_is_counted_by_events_and_not_by_requests() -> None:
    with served(app(collector(rate=1))) as ask:
        assert ask.post(request_body(*[event(event_type="Buy")] * 100)).status == 400
        assert ask.post(b"").json == {"error": "too many events"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * BODY_BYTES, 400),
        (request_body(event(element_id="e" * 60_000)), 503),
        (request_body(*[event(referrer="r" * 400)] * 100), 503),
    ],
)
def test_a_body_is_charged_by_its_size_too_and_read_whatever_its_size(body: bytes, status: int) -> None:
    with served(app(collector(rate=1))) as ask:
        assert ask.post(body).status == status
        assert ask.post(b"").json == {"error": "too many events"}


def test_the_users_and_pages_of_an_address_are_limited() -> None:
    with served(app(collector(variety=1))) as ask:
        ask.post(request_body(event(user_id="ann", page_url="/")))
        assert (
            ask.post(request_body(event(user_id="bob")))
            .json["error"]
            .startswith("event 0: user_id: too many new users")
        )
        assert (
            ask.post(request_body(event(user_id="ann", page_url="/b")))
            .json["error"]
            .startswith("event 0: page_url: too many new pages")
        )
        assert ask.post(request_body(event(user_id="ann", page_url="/"))).status == 503
        for reason in ("too_many_users", "too_many_pages"):
            assert ask.metric(f'tidemark_collect_rejected_total{{reason="{reason}"}}') == 1


def test_thousands_of_clients_that_never_finish_delay_no_other_client_and_write_no_line(
    ask: Asker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ask("GET", "/healthz").status == 200
    before = open_files()
    with dripping(int(ask.address.rpartition(":")[2]), 2_000) as clients:
        assert ask.post(b"").status == 400
        assert ask("GET", "/healthz").status == 200
        assert open_files() - before - len(clients) <= LIMITS.connections + SPARE
    assert capfd.readouterr().err == ""


def test_hostile_requests_are_answered_or_ended(ask: Asker, capfd: pytest.CaptureFixture[str]) -> None:
    host, port = ask.address.removeprefix("http://").split(":")
    for said in hostile(3_400):
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as line:
            line.sendall(said)
            line.shutdown(socket.SHUT_WR)
            assert is_ended(line), said
    assert ask("GET", "/healthz").status == 200
    assert capfd.readouterr().err.count("\n") < 30


@pytest.mark.parametrize(("proxies", "statuses"), [((), [400, 429]), (("127.0.0.0/8",), [400, 400])])
def test_forwarded_addresses_are_used_only_if_the_proxy_is_trusted(
    proxies: tuple[str, ...], statuses: list[int]
) -> None:
    with served(app(collector(rate=0.1)), proxies) as ask:
        clients = ("192.0.2.1", "192.0.2.2")
        assert [ask.post(b"", x_forwarded_for=client).status for client in clients] == statuses


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_not_read_to_its_end(ask: Asker, *, chunked: bool) -> None:
    body = b"x" * (BODY_BYTES + 1)
    answer = ask.post(iter([body]) if chunked else body)
    assert answer.status == 413
    assert ask.post(b"x" * BODY_BYTES).status == 400


def test_a_body_that_does_not_arrive_times_out(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "BODY_S", 0.1)
    host, port = ask.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as line:
        line.sendall(b"POST /events HTTP/1.1\r\nHost: x\r\nUser-Agent: x\r\nContent-Length: 10\r\n\r\n{")
        assert line.recv(100).startswith(b"HTTP/1.1 408 ")


def test_a_client_that_disconnects_is_counted_and_not_logged(ask: Asker, capfd: pytest.CaptureFixture[str]) -> None:
    before = outcomes(ask, RequestOutcome.TOO_SLOW)
    host, port = ask.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as line:
        line.sendall(b"POST /events HTTP/1.1\r\nHost: x\r\nUser-Agent: x\r\nContent-Length: 10\r\n\r\n{")
    while outcomes(ask, RequestOutcome.TOO_SLOW) == before:
        pass
    assert capfd.readouterr().err == ""


def test_an_unreadable_request_is_answered_with_the_reason_and_counted(ask: Asker) -> None:
    counted = 'tidemark_collect_rejected_total{reason="missing"}'
    before = ask.metric(counted)
    refused = ask.post(request_body(event(user_id=None), event(event_type="Buy")))
    assert refused.status == 400
    assert refused.json == {"error": "event 0: user_id: Field required"}
    assert ask.metric(counted) == before + 1
    assert ask.post(b"{}").json == {"error": "sent_at: Field required"}
    assert ask.post(b"hello").json["error"].startswith("Invalid JSON")


def test_nothing_is_acknowledged_that_kafka_does_not_have(ask: Asker) -> None:
    answer = Asker(ask.address, BOUND_S).post(request_body(event()))
    assert answer.status == 503
    assert answer.headers["retry-after"] == "10"
    assert answer.json == {"error": "Kafka has not acknowledged (_MSG_TIMED_OUT)"}
    assert ask.metric('tidemark_collect_unavailable_total{reason="_MSG_TIMED_OUT"}') == 1
    assert ask.metric('tidemark_collect_events_total{type="visit"}') == 0


def test_where_too_much_waits_for_kafka_nothing_more_is_taken() -> None:
    with served(app(collector(pending=3))) as ask:
        assert ask.post(request_body(*[event()] * 4)).json == {"error": "Kafka has not acknowledged (full)"}
        # Until the client is polled, errors that it reports of its broker count, too.
        wait_for(lambda: ask.metric("tidemark_collect_pending_events") == 0, PATIENCE_S, "no pending event")


def test_the_server_is_well_and_ready_only_with_kafka(ask: Asker) -> None:
    assert (ask("GET", "/healthz").status, ask("GET", "/healthz").body) == (200, b"Well.\n")
    assert (ask("GET", "/readyz").status, ask("GET", "/readyz").body) == (503, b"Kafka does not answer.\n")


def test_a_kafka_client_that_can_do_no_more_ends_the_server() -> None:
    taking, ends = collector(), list[bool]()
    taking.sink.on_end = lambda: ends.append(True)
    with served(app(taking)) as ask:
        taking.sink._on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "away"))
        assert (ask("GET", "/healthz").status, ends) == (200, [])
        taking.sink._on_error(KafkaError(KafkaError._FATAL, "fenced", fatal=True))
        assert (ask("GET", "/healthz").body, ends) == (b"fenced\n", [True])
        assert ask("GET", "/healthz").status == 503


def test_the_snippet_may_be_kept_and_used_by_any_page(ask: Asker) -> None:
    answer = ask("GET", "/tidemark.js")
    assert answer.body.decode() == SNIPPET
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/events", 405), ("PUT", "/events", 405), ("GET", "/", 404)]
)
def test_nothing_else_is_there(ask: Asker, method: str, path: str, status: int) -> None:
    assert ask(method, path).status == status


def test_the_page_has_each_metric() -> None:
    assert names_of(Metrics(lambda: 0, 100).registry) == set(
        re.findall(r"^\| `(tidemark_collect_\w+)", PAGE.read_text(), re.MULTILINE)
    )


def test_the_page_shows_a_request_that_is_one(ask: Asker) -> None:
    shown = re.findall(r"--user-agent (\S+) \\\s+--data '(\{.*?\})'", PAGE.read_text(), re.DOTALL)
    assert shown
    for agent, body in shown:
        assert ask.post(json.dumps(json.loads(body)).encode(), user_agent=agent).status == 503
