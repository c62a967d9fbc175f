"""`tidemark health` reports the health page of the service, whose address is in the service's settings."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.metrics.fakes import World, frontier
from tests.support.certificates import Authority
from tests.support.waiting import PATIENCE_S
from tidemark.pipeline.cli import main
from tidemark.pipeline.metrics.exporter import Exporter
from tidemark.pipeline.reading import health_client
from tidemark.pipeline.reading.health_client import ServiceHealth, service_health
from tidemark.pipeline.settings.model import MetricsSettings
from tidemark.pipeline.tables.handle import create_table
from tidemark.pipeline.tables.ledger import warehouse_id
from tidemark.pipeline.tables.schemas import LEDGER

pytestmark = pytest.mark.slow


@pytest.fixture
def world() -> World:
    return World(log_ends={0: 10})


@pytest.fixture(params=["127.0.0.1", "0.0.0.0", "::1"])  # noqa: S104 - for a moment
def port(world: World, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Yields the port of a health page whose host is in its environment variable."""
    settings = MetricsSettings(host=request.param, port=0, stuck_after=timedelta(minutes=1))
    monkeypatch.setenv("TIDEMARK_METRICS__HOST", request.param)
    monkeypatch.setattr(health_client, "_ANSWER_S", PATIENCE_S)
    # A proxy must not be used for a local address.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with closing(Exporter(world.observer(settings), settings)) as exporter:
        yield exporter.port


def test_health_asks_the_port_of_variable_file_or_flag(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tidemark.toml"
    file.write_text(f"[metrics]\nport = {port}\n")
    for words in (["--config", str(file)], [f"--metrics.port={port}"]):
        assert main(["health", *words]) == 0
    monkeypatch.setenv("TIDEMARK_METRICS__PORT", str(port))
    assert main(["health"]) == 0
    assert capsys.readouterr().out == "Healthy: the service starts; its last loop was 0.0 s ago.\n" * 3


def test_a_stuck_or_missing_service_is_one_sentence_and_exit_code_1(
    port: int, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.now += 721_000
    assert main(["health", f"--metrics.port={port}"]) == 1
    assert capsys.readouterr().err.startswith("tidemark: Unhealthy: the service starts; its last loop was 721.0 s ago")
    assert main(["health", "--metrics.port=1"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tidemark: The service is stopped, or on another host: nothing listens at http://")


def test_a_service_of_another_warehouse_is_not_taken_for_the_own_one(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse, other = str(tmp_path / "own"), str(tmp_path / "other")
    for folder in (warehouse, other):
        create_table(LEDGER, folder)
    settings, observer = MetricsSettings(port=0), world.observer()
    with closing(Exporter(observer, settings)) as exporter:
        metrics = MetricsSettings(port=exporter.port)
        words = ["health", f"--metrics.port={exporter.port}", f"--warehouse={warehouse}"]
        assert main(words) == 0, "before it has opened a warehouse, its id is unknown"
        observer.opened(1, frontier({0: 0}), warehouse_id=str(warehouse_id(warehouse)))
        assert main(words) == 0
        assert service_health(metrics, warehouse).is_healthy
        observer.opened(2, frontier({0: 0}), warehouse_id=str(warehouse_id(other)))
        assert main(words) == 1
        sentence = (
            f"The service at http://127.0.0.1:{exporter.port}/healthz writes another warehouse; that of {warehouse} is "
            "stopped, or has another port."
        )
        assert service_health(metrics, warehouse) == ServiceHealth(is_healthy=False, sentence=sentence)
        world.now += 721_000
        assert service_health(metrics, warehouse).sentence == sentence, "also if it is unhealthy"
    assert sentence in capsys.readouterr().err


def test_health_trusts_only_the_configured_certificate_of_an_encrypted_page(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, other = (Authority(tmp_path / name, name).sign("page", host="192.0.2.1") for name in ("own", "other"))
    settings = MetricsSettings(port=0, certificate=own.certificate, key=own.key)
    with closing(Exporter(world.observer(settings), settings)) as exporter:
        for pair, code in ((own, 0), (other, 1)):
            where = [f"--metrics.port={exporter.port}", f"--metrics.certificate={pair.certificate}"]
            assert main(["health", *where, f"--metrics.key={pair.key}"]) == code
    captured = capsys.readouterr()
    assert captured.out.startswith("Healthy: ")
    assert "certificate verify failed" in captured.err
