"""Authentication at a broker: each method works, each mistake is one sentence, and no output contains a secret."""

import json
import re
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

import tidemark.producers.cli
from demo.children import free_port
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.conservation import assert_conserved
from tests.support.processes import Process
from tests.support.secured_broker import LOST, MARK, PASSWORD, SecuredBroker, secured_broker
from tests.support.seeds import drawn, in_turn
from tests.support.sockets import family, listening
from tests.support.waiting import wait_for
from tidemark.pipeline.cli import main

pytestmark = [pytest.mark.broker, pytest.mark.jvm]

TOPIC = "clicks"
EVENTS = 300
PATIENCE_S = 600
Tree = dict[str, dict[str, str]]
Enter = Callable[[str, Tree], None]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker whose `ann` may do what service and producers do, and whose `bob` may do nothing."""
    with secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        broker.broker.create_topic(TOPIC, 2)
        for name in ("ann", "CN=ann"):
            broker.allow(name, AclOperation.READ, ResourceType.TOPIC, TOPIC)
            broker.allow(name, AclOperation.WRITE, ResourceType.TOPIC, TOPIC)
            broker.allow(name, AclOperation.READ, ResourceType.GROUP, "tidemark")
        yield broker


def by_password(broker: SecuredBroker, mechanism: str = "SCRAM-SHA-512", **sasl: str) -> Tree:
    return {
        "security": {"protocol": "SASL_SSL"},
        "sasl": {"mechanism": mechanism, "username": "ann", "password": PASSWORD, **sasl},
        "tls": {"ca": str(broker.authority.file)},
    }


def by_certificate(broker: SecuredBroker, name: str = "client", **tls: str) -> Tree:
    pair = getattr(broker, name)
    files = {"ca": str(broker.authority.file), "certificate": str(pair.certificate), "key": str(pair.key)}
    return {"security": {"protocol": "SSL"}, "tls": {**files, **tls}}


def by_token(broker: SecuredBroker, secret: str = PASSWORD, url: str = "") -> Tree:
    token = {"token_url": url or broker.tokens.token_url, "client_id": "ann", "client_secret": secret}
    return {**by_password(broker), "sasl": {"mechanism": "OAUTHBEARER", **token}}


WAYS: dict[str, Callable[[SecuredBroker], tuple[str, Tree]]] = {
    "SCRAM": lambda broker: ("SASL", by_password(broker)),
    "PLAIN": lambda broker: ("SASL", by_password(broker, "PLAIN")),
    "a certificate": lambda broker: ("MTLS", by_certificate(broker, key_password=PASSWORD)),
    "a token": lambda broker: ("SASL", by_token(broker)),
}
MISTAKES: dict[str, tuple[Callable[[SecuredBroker], tuple[str, Tree]], str]] = {
    "a wrong password": (
        lambda broker: ("SASL", by_password(broker, password=f"not {MARK}")),
        "correct kafka.sasl.username or kafka.sasl.password",
    ),
    "a wrong password with PLAIN": (
        lambda broker: ("SASL", by_password(broker, "PLAIN", password=f"not {MARK}")),
        "correct kafka.sasl.username or kafka.sasl.password",
    ),
    "a mechanism that the listener has not": (
        lambda broker: ("SASL", by_password(broker, "SCRAM-SHA-256")),
        "correct kafka.sasl.mechanism",
    ),
    "a wrong secret for a token": (
        lambda broker: ("SASL", by_token(broker, f"not {MARK}")),
        "correct kafka.sasl.token_url, kafka.sasl.client_id or kafka.sasl.client_secret",
    ),
    "a token server whose certificate is not trusted": (
        lambda broker: ("SASL", by_token(broker, url=broker.tokens_by_tls.token_url)),
        "is not trusted (",
    ),
    "a token server that does not run": (
        lambda broker: ("SASL", by_token(broker, url="http://127.0.0.1:1/token")),
        "http://127.0.0.1:1/token cannot be reached (",
    ),
    "a broker that advertises a host without an address": (
        lambda _: ("LOST", {}),
        f"a broker advertises the address {LOST}, which this machine does not reach (Failed to resolve",
    ),
    "a broker's certificate that has expired": (
        lambda broker: ("EXPIRED", {"security": {"protocol": "SSL"}, "tls": {"ca": str(broker.authority.file)}}),
        "has expired: renew it",
    ),
    "an authority that did not sign the broker's certificate": (
        lambda broker: ("SASL", {**by_password(broker), "tls": {"ca": str(broker.stranger.file)}}),
        "correct kafka.tls.ca",
    ),
    "a client's certificate that has expired": (
        lambda broker: ("MTLS", by_certificate(broker, "expired_client")),
        "correct kafka.tls.certificate and kafka.tls.key",
    ),
    "a client's certificate that the broker does not know": (
        lambda broker: ("MTLS", by_certificate(broker, "strange_client")),
        "correct kafka.tls.certificate and kafka.tls.key",
    ),
    "no certificate where the broker wants one": (
        lambda broker: ("MTLS", {"security": {"protocol": "SSL"}, "tls": {"ca": str(broker.authority.file)}}),
        "set kafka.tls.certificate and kafka.tls.key",
    ),
    "a wrong password of the key": (
        lambda broker: ("MTLS", by_certificate(broker, key_password=f"not {MARK}")),
        "kafka.tls.key",
    ),
    "no encryption where the broker wants it": (lambda _: ("SASL", {}), "kafka.security.protocol"),
    "encryption where the broker has none": (
        lambda broker: ("PLAINTEXT", by_password(broker)),
        "does not use TLS: correct kafka.security.protocol",
    ),
    "a password where the broker asks for none": (
        lambda broker: ("PLAINTEXT", {**by_password(broker), "security": {"protocol": "SASL_PLAINTEXT"}, "tls": {}}),
        "does not authenticate clients: correct kafka.security.protocol",
    ),
    "a user without rights": (
        lambda broker: ("SASL", by_password(broker, username="bob")),
        f"--allow-principal User:bob --operation {{}} --topic {TOPIC}`",
    ),
}


@pytest.fixture
def enter(monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Says in the environment how to get in, as both commands read it."""
    monkeypatch.delenv("TIDEMARK_TEST_BROKER", raising=False)  # the tests' own, and no setting

    def say(address: str, tree: Tree) -> None:
        for name, value in environment("TIDEMARK", tree).items():
            monkeypatch.setenv(name, value)
        for name, value in environment("PRODUCERS", tree).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("TIDEMARK_KAFKA__BOOTSTRAP_SERVERS", address)
        monkeypatch.setenv("TIDEMARK_METRICS__PORT", "0")
        monkeypatch.setenv("TIDEMARK_SPARK__CONF", json.dumps(BRIEF_DRIVER))

    return say


def environment(prefix: str, tree: Tree) -> dict[str, str]:
    return {
        f"{prefix}_KAFKA__{section}__{name}".upper(): value
        for section, settings in tree.items()
        for name, value in settings.items()
    }


def simulate(address: str, *options: str) -> int:
    return tidemark.producers.cli.main(["simulate", "--bootstrap-servers", address, "--topic", TOPIC, *options])


def run(warehouse: Path, *options: str) -> int:
    return main(["run", "--until-caught-up", "--topic", TOPIC, "--warehouse", str(warehouse), *options])


def check(warehouse: Path, *options: str) -> int:
    return main(["check", "--topic", TOPIC, "--warehouse", str(warehouse), *options])


@pytest.mark.parametrize("way", drawn([*WAYS], 2))
def test_events_go_to_tables_by(way: str, secured: SecuredBroker, enter: Enter, tmp_path: Path) -> None:
    listener, tree = WAYS[way](secured)
    enter(secured.at(listener), tree)
    assert simulate(secured.at(listener), "--events", str(EVENTS), "--rate", "0", "--event-rate", "10") == 0
    assert run(tmp_path) == 0
    assert assert_conserved(tmp_path).counted >= EVENTS


@pytest.mark.parametrize("mistake", drawn([*MISTAKES], 8))
def test_one_sentence_says_what_to_change_after(
    mistake: str, secured: SecuredBroker, enter: Enter, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made, words = MISTAKES[mistake]
    listener, tree = made(secured)
    enter(secured.at(listener), tree)
    assert check(tmp_path, "--kafka.connect-timeout=5s") == 1
    assert run(tmp_path, "--kafka.connect-timeout=5s") == 2
    assert simulate(secured.at(listener), "--timeout", "5s") == 2
    said = "".join(capfd.readouterr())  # what is checked goes to standard output
    told = [line for line in said.splitlines() if line.startswith(("fail  brokers ", "tidemark: ", "producers: "))]
    rights = ("Read", "Read", "Write")
    assert [words.replace("{}", verb) in line for verb, line in zip(rights, told, strict=True)] == [True] * 3
    assert "1 failed, " in said
    assert "Traceback" not in said
    assert MARK not in said


@in_turn(1, 2)
def test_no_output_contains_a_secret(secured: SecuredBroker, enter: Enter, tmp_path: Path) -> None:
    """A service with all kinds of secrets at work, looked at from all sides; and it listens on loopback alone."""
    page, metrics, warehouse = free_port(), free_port(), tmp_path / "warehouse"
    tree = by_password(secured)
    tree["tls"] |= by_certificate(secured, key_password=PASSWORD)["tls"]
    (tmp_path / "log4j2.properties").write_text(LOGGING)
    spark = {
        **BRIEF_DRIVER,
        "spark.ui.enabled": "true",
        "spark.ui.port": str(page),
        "spark.hadoop.fs.s3a.secret.key": PASSWORD,
        "spark.hadoop.fs.azure.account.key.x": PASSWORD,
        "spark.made.up.by.a.plugin": PASSWORD,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={tmp_path / 'log4j2.properties'}",
    }
    told = {
        **environment("TIDEMARK", tree),
        "TIDEMARK_KAFKA__BOOTSTRAP_SERVERS": secured.at("SASL"),
        "TIDEMARK_SPARK__CONF": json.dumps(spark),
        "TIDEMARK_METRICS__USERNAME": "prometheus",
        "TIDEMARK_METRICS__PASSWORD": PASSWORD,
        "TIDEMARK_METRICS__PORT": str(metrics),
    }
    enter(secured.at("SASL"), by_password(secured))
    assert simulate(secured.at("SASL"), "--events", str(EVENTS), "--rate", "0", "--event-rate", "10") == 0
    arguments = ["run", "--topic", TOPIC, "--warehouse", str(warehouse), "--batch.interval", "200ms"]
    with Process([sys.executable, "-m", "tidemark.pipeline.cli", *arguments], tmp_path / "log", told) as service:
        wait_for(lambda: "batch_committed" in service.said, PATIENCE_S, "a batch")
        wait_for(lambda: "MicroBatchScan" in plans(page), PATIENCE_S, "a batch on Spark's page")
        seen = {"log": service.said, "arguments": arguments_of_all(), "plans": plans(page)}
        seen |= {path: fetch(page, path) for path in ("/environment/", "/StreamingQuery/", "/SQL/", "/jobs/")}
        seen["environment"] = fetch(page, f"{application(page)}/environment")
        addresses = listening(*family(service.popen.pid))
    for file in warehouse.rglob("*"):
        seen[str(file)] = file.read_bytes().decode("latin-1") if file.is_file() else ""
    key = secured.client.key.read_text().splitlines()[1]
    assert {metrics, page} < {address.port for address in addresses}
    assert {address.host for address in addresses} <= {"127.0.0.1", "::1"}
    assert "ConsumerConfig values" in seen["log"]
    assert {where for where, text in seen.items() if MARK in text or key in text} == set()


LOGGING = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c: %m%n
logger.kafka.name = org.apache.kafka
logger.kafka.level = info
logger.spark.name = org.apache.spark.sql.kafka010
logger.spark.level = debug
"""


def fetch(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_S) as answer:
        body: bytes = answer.read()
    return body.decode()


def application(page: int) -> str:
    (one,) = json.loads(fetch(page, "/api/v1/applications"))
    return f"/api/v1/applications/{one['id']}"


def plans(page: int) -> str:
    """Returns what Spark's page shows of the queries that ran; nothing while there is no page."""
    try:
        listed: list[dict[str, Any]] = json.loads(fetch(page, f"{application(page)}/sql?details=true"))
        shown = [fetch(page, f"/SQL/execution/?id={one['id']}") for one in listed[-3:]]
    except (OSError, json.JSONDecodeError):  # at first it says that it is starting
        return ""
    return json.dumps(listed) + "".join(shown)


def arguments_of_all() -> str:
    """The arguments of every process of this machine."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(process.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    assert any(re.search(r"org.apache.spark.deploy.SparkSubmit", text) for text in found)
    return "\n".join(found)
