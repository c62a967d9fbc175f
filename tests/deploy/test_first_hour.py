"""The commands of `docs/first-hour.md`: names in compose exist, and its containers' programs run on this machine."""

import json
import signal
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.containers import HOST, Here
from tests.deploy.files import services, shell_commands, values_of
from tests.deploy.first_hour import PAGE, SQL, VERBS, asked, compose_commands
from tests.deploy.ports import listed, scanned
from tests.deploy.rules import alerts
from tests.support.against_truth import ledger_version
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import rows

GIVES_UP = "--timeout=20s"
METRICS, DASHBOARD = 9477, "9478"


def test_compose_has_the_profiles_and_services_that_the_page_names() -> None:
    profiles = {profile for service in services().values() for profile in service.get("profiles", [])}
    verbs = set()
    for options, (verb, *words) in compose_commands():
        verbs.add(verb)
        assert options[::2] == ["--profile"] * (len(options) // 2)
        assert {*options[1::2]} <= profiles
        named = words[:1] if verb == "exec" else [word for word in words if not word.startswith("--")]
        assert {*named} <= {*services()}
    assert verbs == VERBS


def test_the_page_names_ports_and_alerts_that_exist() -> None:
    page, published = PAGE.read_text(), [port for one in services().values() for port in one.get("ports", [])]
    for port in (METRICS, SQL, 3000, 9093, 9478, 8480):
        assert f"127.0.0.1:{port}" in page
        assert f"127.0.0.1:{port}:{port}" in published
    assert services()["dashboard"]["environment"]["TIDEMARK_DASHBOARD__TOKEN"] in page
    assert f":{services()['sql']['environment']['TIDEMARK_SQL_PASSWORD']}@127.0.0.1:{SQL}" in page
    assert "`TidemarkFailing`" in page
    failing = alerts()["TidemarkFailing"]
    assert failing["expr"].startswith("increase(tidemark_failures_total[5m]) > 0 unless ")
    assert failing["for"] == "5m"


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.long
def test_its_containers_as_processes_do_all_that_the_page_describes(tmp_path: Path) -> None:
    here = Here(tmp_path)
    warehouse = Path(here.variables("tidemark")["TIDEMARK_WAREHOUSE"])
    warehouse.parent.mkdir()
    # A test does not wait for the first minute to fire.
    own = {"TIDEMARK_SPARK__CONF": json.dumps(BRIEF_DRIVER), "TIDEMARK_WINDOW__SIZE": "2s"}
    with here.kafka() as kafka:
        here.make_topic()
        with here.container("producer", GIVES_UP) as producer, here.container("tidemark", **own) as service:
            await_(service, lambda: has_windows(warehouse), "a window")
            with here.container("sql", "--port", str(here.port(str(SQL)))) as end:
                await_(end, lambda: "sql_server_listening" in end.said, "the end point")
                assert_ports(here, kafka=kafka, tidemark=service, producer=producer, sql=end)
                *looks, last = [words for _, (verb, *words) in compose_commands() if verb == "exec"]
                said = [said_by(here, *words) for words in looks]
                answers = [asked(here, *words[1:]) for words in shell_commands(PAGE) if words[0] == "psql"]
                stop(end)
            assert said[0].startswith("Healthy: the service is running")
            assert ("page_views_live",) in answers[0]
            assert answers[1][0][1] > 0
            assert "window_start" in {row[0] for row in answers[2]}
            assert "tidemark_watermark" in page(here, "/metrics")
            stop(kafka, 143)
            failing = "Healthy: the service failed and restarts"
            await_(
                service, lambda: said_by(here, "tidemark", *health_check()).startswith(failing), "word of the outage"
            )
            # The site gives up for want of a broker, and compose starts it again.
            assert services()["producer"]["restart"] == "unless-stopped"
            assert producer.wait() > 0
            before = ledger_version(warehouse)
            with here.kafka() as again, here.container("producer") as site:
                await_(service, lambda: ledger_version(warehouse) > before + 3, "new batches")
                await_(service, lambda: page(here, "/readyz").startswith("Ready"), "readiness")
                stop(site)
                stop(service)
                assert here.run("tidemark", *health_check()).returncode == 1
                said_by(here, *last)
                stop(again, 143)


def assert_ports(here: Here, **processes: Process) -> None:
    """Starts what is missing of the set, and scans all of it for the ports of docs/security.md."""
    port = ("--dashboard.port", str(here.port(DASHBOARD)))
    with here.container("collect") as collect, here.container("dashboard", *port) as dashboard:
        await_(collect, lambda: "collecting for" in collect.said, "the collector")
        await_(dashboard, lambda: "dashboard_listening" in dashboard.said, "the dashboard")
        processes |= {"collect": collect, "dashboard": dashboard}
        assert {*services()} - {*processes} == {"topic", "prometheus", "alertmanager", "grafana"}
        assert scanned(here, processes) == listed(processes)


def has_windows(warehouse: Path) -> bool:
    return ledger_version(warehouse) > 2 and bool(rows(warehouse, "page_traffic"))


def await_(process: Process, done: Callable[[], bool], what: str) -> None:
    """Returns when it is done; fails where the process ends."""
    wait_for(lambda: not process.alive or done(), PATIENCE_S, what)
    assert process.alive, process.said


def said_by(here: Here, name: str, *words: str) -> str:
    """Returns the output of a command in the container of a service; its exit code must be 0."""
    done = here.run(name, *words)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def health_check() -> list[str]:
    """The command of the image's own check."""
    (check,) = values_of("HEALTHCHECK")
    command: list[str] = json.loads(check.split("CMD ")[1])
    return command


def page(here: Here, path: str) -> str:
    """Returns the answer of the service's health page if it is healthy, else an empty text."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{here.port(str(METRICS))}{path}", timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError:
        return ""


def stop(process: Process, code: int = 0) -> None:
    process.send(signal.SIGTERM)
    assert process.wait() == code, process.said
