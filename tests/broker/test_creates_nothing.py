"""A mistyped topic or broker creates nothing, even on a broker that creates each topic that a client asks for."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from demo.broker import Broker
from tests.support.brief_java import BRIEF_JVM
from tests.support.waiting import wait_for
from tidemark.pipeline import cli
from tidemark.pipeline.runtime.scratch import own_folder
from tidemark.producers import cli as producers_cli

pytestmark = pytest.mark.slow
PATIENCE_S = 600
TYPO = "clicsk"
VERBS = {
    "run": (["run", "--metrics.port=0"], 2),
    "run --until-caught-up": (["run", "--until-caught-up", "--metrics.port=0"], 2),
    "check": (["check", "--metrics.port=0"], 1),
    "correct": (["correct"], 2),
}


@pytest.fixture(autouse=True)
def scratch(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of temporary files, such as a checkpoint; removes the person's own settings."""
    for name in [name for name in os.environ if name.startswith("TIDEMARK_") and name != "TIDEMARK_JARS_CACHE"]:
        monkeypatch.delenv(name)
    own_folder()  # of this process, which keeps it until its end
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def obliging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that creates each topic that a client asks for."""
    properties = {"auto.create.topics.enable": "true"}
    with Broker(tmp_path_factory.mktemp("obliging"), heap="256m", further=properties, options=[BRIEF_JVM]) as broker:
        broker.create_topic("clicks")
        yield broker


def topics(broker: Broker) -> set[str]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    return set(admin.list_topics(timeout=PATIENCE_S).topics)


@pytest.mark.broker
@pytest.mark.jvm
def test_this_broker_does_make_topics(obliging: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": obliging.bootstrap_servers})
    admin.list_topics("made-by-asking", timeout=PATIENCE_S)
    wait_for(lambda: "made-by-asking" in topics(obliging), PATIENCE_S, "a topic that was asked for")


@pytest.mark.broker
@pytest.mark.jvm
@pytest.mark.parametrize("verb", VERBS)
def test_a_mistyped_topic_makes_nothing(
    obliging: Broker, verb: str, tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, code = VERBS[verb]
    before = topics(obliging)
    where = [f"--bootstrap-servers={obliging.bootstrap_servers}", f"--topic={TYPO}", f"--warehouse={tmp_path / 'new'}"]
    assert cli.main([*words, *where]) == code
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    assert verb == "correct" or f"there is no topic {TYPO}. Create it, or correct kafka.topic" in said.out + said.err
    assert topics(obliging) == before
    assert ([*tmp_path.iterdir()], [*scratch.iterdir()]) == ([], [])


@pytest.mark.broker
@pytest.mark.jvm
def test_producers_create_a_topic_only_if_asked(obliging: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    where = [f"--bootstrap-servers={obliging.bootstrap_servers}", "--events=1", "--rate=0"]
    before = topics(obliging)
    assert producers_cli.main(["simulate", *where, f"--topic={TYPO}"]) == 2
    assert f"there is no topic '{TYPO}'" in capsys.readouterr().err
    assert topics(obliging) == before
    assert producers_cli.main(["simulate", *where, "--topic=wanted", "--create-topic", "--partitions=2"]) == 0
    assert topics(obliging) == before | {"wanted"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_mistyped_broker_makes_nothing(
    verb: str, tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"127.0.0.1:{server.getsockname()[1]}"
    words, code = VERBS[verb]
    where = [f"--bootstrap-servers={nobody}", "--topic=clicks", f"--warehouse={tmp_path / 'new'}"]
    assert cli.main([*words, *where, "--kafka.connect-timeout=300ms"]) == code
    said = capsys.readouterr()
    assert verb == "correct" or f"no Kafka broker at {nobody} answered within 0.3 s" in said.out + said.err
    assert ([*tmp_path.iterdir()], [*scratch.iterdir()]) == ([], [])
