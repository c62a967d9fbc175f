"""A set-up error is reported in one sentence with exit code 2, and without a traceback."""

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from demo.broker import Broker
from tests.support.brief_java import BRIEF_JVM
from tests.support.conservation import assert_conserved
from tests.support.folded import record
from tests.support.kafka_cluster import Cluster
from tests.support.services import settings_of
from tests.support.topic_writer import event, send
from tests.support.waiting import wait_for
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import TransientError, Unreachable
from tidemark.pipeline.kafka.topic import Topic, connect
from tidemark.pipeline.settings.model import KafkaSettings, Settings

MakeTopic = Callable[..., str]
Refused = Callable[..., str]
PATIENCE_S = 600
WAITING = "waiting_for_broker"


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Runs `tidemark run` with arguments, which has to exit with 2; returns its only sentence."""
    monkeypatch.delenv("TIDEMARK_TEST_BROKER", raising=False)  # the tests' own, and no setting

    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert main(["run", "--until-caught-up", *arguments]) == 2
        said = capsys.readouterr().err
        assert said.startswith("tidemark: ")
        assert said.count("\n") == 1
        assert "Traceback" not in said
        return said

    return run


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which another process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port on which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def where(broker: Cluster, topic: str, warehouse: Path) -> list[str]:
    return [f"--bootstrap-servers={broker.bootstrap_servers}", f"--topic={topic}", f"--warehouse={warehouse}"]


def test_a_topic_that_does_not_exist(broker: Cluster, tmp_path: Path, refused: Refused) -> None:
    said = refused(*where(broker, "no-such-topic", tmp_path))
    assert "there is no topic no-such-topic. Create it, or correct kafka.topic" in said


def test_a_topic_name_that_no_topic_can_have(broker: Cluster, tmp_path: Path, refused: Refused) -> None:
    assert "there is no topic no such topic!" in refused(*where(broker, "no such topic!", tmp_path))


@pytest.mark.slow
def test_a_broker_that_is_down_is_reported(closed_port: int, tmp_path: Path, refused: Refused) -> None:
    down = Cluster(f"127.0.0.1:{closed_port}")
    said = refused(*where(down, "clicks", tmp_path), "--kafka.connect-timeout=200ms")
    assert f"no Kafka broker at 127.0.0.1:{closed_port} answered within 0.2 s" in said


@pytest.mark.slow
def test_no_request_to_a_broker_outlasts_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = set[float]()

    def unanswered(topic: Topic) -> dict[int, int]:
        patience.add(topic.patience_s)
        raise TransientError("no answer")

    monkeypatch.setattr(Topic, "log_ends", unanswered)
    settings = KafkaSettings(bootstrap_servers="127.0.0.1:1", topic="clicks", connect_timeout=timedelta(seconds=0.2))
    with pytest.raises(Unreachable, match=r"answered within 0.2 s \(no answer\)"):
        connect(settings, lambda _: None)
    assert patience == {0.2}


def test_a_warehouse_that_cannot_be_written(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path, refused: Refused
) -> None:
    (tmp_path / "file").write_text("no folder")
    said = refused(*where(broker, make_topic(), tmp_path / "file" / "warehouse"))
    assert "warehouse cannot be written" in said
    assert "Correct the path, or its permissions" in said


def test_a_metrics_port_in_use(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path, refused: Refused, taken_port: int
) -> None:
    said = refused(*where(broker, make_topic(), tmp_path), f"--metrics.port={taken_port}")
    assert f"cannot serve metrics on 127.0.0.1 port {taken_port}" in said


def test_a_misspelt_flag(refused: Refused) -> None:
    assert "No such option '--topick'" in refused("--topick=clicks")


def test_a_misspelt_variable(monkeypatch: pytest.MonkeyPatch, refused: Refused) -> None:
    monkeypatch.setenv("TIDEMARK_KAFAK__TOPIC", "clicks")
    assert "TIDEMARK_KAFAK__TOPIC names no setting" in refused()


def test_a_misspelt_setting_in_the_file(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "tidemark.toml").write_text('[kafka]\ntopik = "clicks"')
    assert "kafka.topik: there is no such setting" in refused(f"--config={tmp_path / 'tidemark.toml'}")


def test_nothing_set_at_all(refused: Refused) -> None:
    assert "kafka.bootstrap_servers, kafka.topic, warehouse must be set" in refused()


def test_a_schema_that_is_no_json(broker: Cluster, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "user_event.avsc").write_text("{")
    assert "is not valid JSON" in refused(*where(broker, "clicks", tmp_path), f"--schemas.folder={tmp_path}")


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ({"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}, "contains itself"),
        ({"type": "enum", "name": "K", "namespace": "my..company", "symbols": ["a"]}, "'my..company' is no name"),
    ],
)
def test_a_schema_that_run_refuses_is_refused_by_check(
    broker: Cluster,
    make_topic: MakeTopic,
    tmp_path: Path,
    refused: Refused,
    capsys: pytest.CaptureFixture[str],
    kind: dict[str, Any],
    sentence: str,
) -> None:
    (tmp_path / "e.7.avsc").write_text(json.dumps(record({"name": "value", "type": kind})))
    mapping = '[schemas.mapping]\nuser = "u"\ntime = "t"\nkind = ""\n'
    condition = '[reports.few]\nkeys = ["user_id"]\nwhere = "value IS NULL"\n'
    (tmp_path / "tidemark.toml").write_text(mapping + condition)
    files = [f"--config={tmp_path / 'tidemark.toml'}", f"--schemas.folder={tmp_path}"]
    settings = [*where(broker, make_topic(), tmp_path / "warehouse"), *files]
    assert sentence in refused(*settings)
    assert main(["check", *settings]) == 1
    assert sentence in capsys.readouterr().out


@pytest.mark.broker
@pytest.mark.jvm
def test_a_broker_that_comes_up_later_is_waited_for(tmp_path: Path) -> None:
    with Broker(tmp_path / "broker", heap="256m", options=[BRIEF_JVM]) as late:
        late.create_topic("clicks")
        send(late.bootstrap_servers, "clicks", [event("ann", 1_000_000)])
        late.stop()
        settings = settings_of(Cluster(late.bootstrap_servers), "clicks", tmp_path / "warehouse")
        # The broker dies with the thread that started it, so it is the service that goes to another one.
        with capture_logs() as said, ThreadPoolExecutor(max_workers=1) as pool:
            drained = pool.submit(drain, settings)
            wait_for(lambda: WAITING in [line["event"] for line in said], PATIENCE_S, "waiting_for_broker")
            late.start()
            drained.result(PATIENCE_S)
    assert assert_conserved(tmp_path / "warehouse").counted == 1


def drain(settings: Settings) -> None:
    """One life of a service."""
    with open_service(settings) as service:
        service.drain()
