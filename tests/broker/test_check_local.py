"""`tidemark check` without a broker: the warehouse, ports, jars, Java, disks and Spark."""

import os
import socket
from contextlib import closing
from datetime import timedelta
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.setup.mirror import serving
from tests.support.check_results import worst
from tests.support.environment import remove_settings
from tidemark.pipeline.app import serve
from tidemark.pipeline.commands.preflight import machine_checks
from tidemark.pipeline.commands.preflight.check_result import CheckResult, Level, results_of
from tidemark.pipeline.commands.preflight.preflight import check_results
from tidemark.pipeline.commands.preflight.warehouse_checks import check_reports, check_store
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.runtime.jars import locked
from tidemark.pipeline.settings.model import KafkaSettings, Settings, SparkSettings
from tidemark.pipeline.settings.report_settings import WindowSettings

pytestmark = pytest.mark.slow
CLOSED = {"spark.authenticate": "true"}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    remove_settings(monkeypatch)


def test_a_wrong_address_of_the_brokers_is_reported_before_java_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        kafka = {"bootstrap_servers": f"127.0.0.1:{server.getsockname()[1]}", "topic": "clicks"}
    kafka["connect_timeout"] = "300ms"
    settings = Settings(warehouse=str(tmp_path), kafka=KafkaSettings.model_validate(kafka))
    seen = [*islice(check_results(settings, now_ms), 2)]
    assert [(result.level, result.subject) for result in seen] == [(Level.PASS, "settings"), (Level.FAIL, "brokers")]


def test_a_warehouse_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    (seen,) = results_of("warehouse", lambda: check_store(str(tmp_path / "file" / "warehouse")))
    assert seen.level is Level.FAIL
    assert seen.message.startswith(f"the warehouse {tmp_path}/file cannot be written: ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("existing", [True, False])
def test_the_store_is_tried_and_left_as_it_was(tmp_path: Path, *, existing: bool) -> None:
    warehouse = tmp_path / "new" / "warehouse"
    if existing:
        warehouse.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    seen = worst(check_store(str(warehouse)))
    assert {about: one.level for about, one in seen.items()} == {"warehouse": Level.PASS, "space": Level.PASS}
    assert sorted(tmp_path.rglob("*")) == before


def test_a_store_that_lets_two_writers_commit_a_version_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidemark.pipeline.tables.probe._winners", lambda _: 2)
    (seen,) = results_of("warehouse", lambda: check_store(str(tmp_path)))
    assert seen.level is Level.FAIL
    assert "let 2 of 8 writers commit the same version" in seen.message
    assert [*tmp_path.iterdir()] == []


def test_a_report_that_changed(tmp_path: Path) -> None:
    settings = Settings(warehouse=str(tmp_path))
    create_tables(str(tmp_path), settings.policy())
    changed = settings.model_copy(update={"window": WindowSettings(size=timedelta(minutes=7))})
    (seen,) = results_of("reports", lambda: check_reports(changed))
    assert seen.level is Level.FAIL
    assert "was made with windows" in seen.message


def test_a_dimension_or_measure_that_no_report_has(tmp_path: Path) -> None:
    dimensions, measures = {"plan": "traits.plan", "kind": "kind"}, {"paid": {"sum": "price"}, "most": {"max": "price"}}
    reports = {"by_plan": {"keys": ["plan"], "measures": ["paid"]}}
    given = {"warehouse": str(tmp_path), "dimensions": dimensions, "measures": measures, "reports": reports}
    seen = [*results_of("reports", lambda: check_reports(Settings.model_validate(given)))]
    assert [(one.level, one.message.partition(":")[0]) for one in seen[1:]] == [
        (Level.WARN, "dimensions.kind is in no report"),
        (Level.WARN, "measures.most is in no report"),
    ]
    given["site"] = {"campaign": "plan", "referrer": "kind"}
    seen = [*results_of("reports", lambda: check_reports(Settings.model_validate(given)))]
    assert [one.message.partition(":")[0] for one in seen[1:]] == ["measures.most is in no report"]


@pytest.mark.parametrize(("judged", "warned"), [("batch", []), ("arrival", ["pairs"])])
def test_windows_of_count_are_warned_of_if_arrival_decides(tmp_path: Path, judged: str, warned: list[str]) -> None:
    reports = {"pairs": {"window": {"count": 2}}, "minutes": {"window": {"size": "1m"}}}
    given = {"warehouse": str(tmp_path), "time": {"judged": judged}, "reports": reports}
    _, *seen = results_of("reports", lambda: check_reports(Settings.model_validate(given)))
    assert [one.message.partition(" has windows of count")[0] for one in seen] == warned
    assert all(one.level is Level.WARN for one in seen)


@pytest.mark.parametrize("serves", [True, False])
def test_a_port_in_use_warns_if_a_tidemark_service_has_it_and_otherwise_fails(
    monkeypatch: pytest.MonkeyPatch, *, serves: bool
) -> None:
    if not serves:
        monkeypatch.setattr("tidemark.pipeline.reading.health_client._ANSWER_S", 0.2)
    settings = Settings(warehouse="w", kafka=KafkaSettings(bootstrap_servers="b", topic="t"), metrics={"port": 0})  # type: ignore[arg-type] # as a file has it
    with closing(serve(settings)) if serves else socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] if isinstance(taken, socket.socket) else taken.port
        metrics = settings.metrics.model_copy(update={"port": port})
        (seen,) = results_of(
            "metrics", lambda: machine_checks.check_metrics(settings.model_copy(update={"metrics": metrics}))
        )
    expected = (Level.WARN, "a Tidemark service listens") if serves else (Level.FAIL, "cannot serve metrics on")
    assert (seen.level, seen.message[: len(expected[1])]) == expected


def test_jars_that_are_missing_are_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_JARS_CACHE", str(tmp_path / "jars"))
    wanted = locked("spark")
    lack = f"missing in {tmp_path / 'jars'}: {len(wanted)} of {len(wanted)}"
    with serving() as maven:
        monkeypatch.setenv("TIDEMARK_MAVEN_MIRROR", maven.address)
        (seen,) = machine_checks.check_jars()
        assert seen.level is Level.FAIL
        assert seen.message.startswith(f"{lack}, and {maven.address} does not serve them")
        maven.files[wanted[0].url("")] = b"the first"
        (seen,) = machine_checks.check_jars()
        assert seen == CheckResult(Level.WARN, "jars", f"{lack}: the first start downloads them from {maven.address}")
    assert [*tmp_path.iterdir()] == []


def test_without_java_it_says_what_a_start_would_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (seen,) = results_of("java", machine_checks.check_java)
    assert seen.level is Level.FAIL
    assert seen.message.startswith("Tidemark needs Java 17 or 21: no Java was found")


def test_little_free_space_warns_and_less_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, level in ((50 << 20, Level.FAIL), (500 << 20, Level.WARN), (2 << 30, Level.PASS)):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        assert machine_checks.check_space("space", tmp_path, "warehouse").level is level


def test_a_master_that_does_not_listen_fails() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        master = SparkSettings(master=f"spark://127.0.0.1:{server.getsockname()[1]}")
        (seen,) = machine_checks.check_master(Settings(spark=master))
        assert seen.level is Level.PASS
    (seen,) = machine_checks.check_master(Settings(spark=master))
    assert seen.level is Level.FAIL
    assert "start it, or correct spark.master" in seen.message


@pytest.mark.parametrize(
    ("master", "conf", "level", "said"),
    [
        (None, {}, Level.PASS, "its ports are bound to localhost"),
        (None, {"spark.driver.bindAddress": "192.0.2.1"}, Level.WARN, "opens its ports to other machines"),
        ("local[2]", {"spark.authenticate": "false"}, Level.WARN, "opens its ports to other machines"),
        ("spark://far:7077", {}, Level.WARN, "Set spark.authenticate and spark.network.crypto.enabled"),
        ("spark://far:7077", CLOSED, Level.FAIL, "set spark.authenticate.secret.file"),
        ("spark://far:7077", {**CLOSED, "spark.authenticate.secret": "x"}, Level.WARN, "is not encrypted"),
        ("k8s://https://far", {**CLOSED, "spark.network.crypto.enabled": "true"}, Level.PASS, "encrypt their traffic"),
    ],
)
def test_open_ports_and_plain_traffic_of_spark_are_reported(
    master: str | None, conf: dict[str, str], level: Level, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    (seen,) = machine_checks.check_traffic(Settings(spark=SparkSettings(master=master, conf=conf)))
    assert (seen.level, seen.subject) == (level, "spark")
    assert said in seen.message


def test_a_scratch_folder_from_which_java_can_load_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worst(machine_checks.check_scratch())["scratch"].level is not Level.FAIL
    disk = os.statvfs(".")
    flagged = SimpleNamespace(f_bavail=disk.f_bavail, f_blocks=disk.f_blocks, f_bfree=0, f_frsize=disk.f_frsize)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC, **vars(flagged)))
    seen = worst(machine_checks.check_scratch())["scratch"]
    assert seen.level is Level.WARN
    assert "is mounted as noexec" in seen.message
    assert "zstd and snappy" in seen.message
