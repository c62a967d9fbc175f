"""The commands of "The demo" in `docs/start.md`, with the containers of compose as processes."""

import json
import signal
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.deploy.containers import HOST, Here
from tests.deploy.files import commands_of, services, values_of
from tests.deploy.first_hour import PAGE, SQL, asked, compose_commands
from tests.deploy.ports import listed, scanned
from tests.support.against_truth import ledger_version
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_S, wait_for

METRICS: Final = 9477
NO_PROCESSES: Final = {"topic", "prometheus", "alertmanager", "grafana"}
"""Services of the file with another image, except Kafka."""


def queries_while_it_runs(here: Here, **processes: Process) -> None:
    """Runs the page's commands on running containers, and compares all their open ports with docs/security.md."""
    with here.container("sql", "--port", str(here.port(str(SQL)))) as server:
        await_(server, lambda: "sql_server_listening" in server.said, "the SQL server")
        processes |= {"sql": server}
        assert {*services()} - {*processes} == NO_PROCESSES
        assert scanned(here, processes) == listed(processes)
        *looks, _ = exec_commands()
        outputs = [output_of(here, *words) for words in looks]
        answers = [asked(here, *words[1:]) for words in commands_of(PAGE) if words[0] == "psql"]
        stop(server)
    assert outputs[0].startswith("Healthy: the service is running")
    assert ("page_views_live",) in answers[0]
    assert answers[1][0][1] > 0
    assert "window_start" in {row[0] for row in answers[2]}
    assert "tidemark_watermark" in answer_of_service(here, "/metrics")


def survives_an_outage(here: Here, kafka: Process, service: Process, producer: Process, warehouse: Path) -> None:
    """Stops the broker, starts it again, and at the end stops everything in order."""
    stop(kafka, 143)
    failing = "Healthy: the service failed and restarts"
    await_(service, lambda: output_of(here, "tidemark", *health_check()).startswith(failing), "word of the outage")
    # The site gives up for want of a broker, and compose starts it again.
    assert services()["producer"]["restart"] == "unless-stopped"
    assert producer.wait() > 0
    before = ledger_version(warehouse)
    with here.kafka() as again, here.container("producer") as site:
        await_(service, lambda: ledger_version(warehouse) > before + 3, "new batches")
        await_(service, lambda: answer_of_service(here, "/readyz").startswith("Ready"), "readiness")
        stop(site)
        stop(service)
        assert here.run("tidemark", *health_check()).returncode == 1
        *_, last = exec_commands()
        output_of(here, *last)
        stop(again, 143)


def exec_commands() -> list[list[str]]:
    """Returns service and command of each `docker compose exec` of the page; the last is for a stopped service."""
    return [words for _, (verb, *words) in compose_commands() if verb == "exec"]


def await_(process: Process, done: Callable[[], bool], event: str) -> None:
    """Returns when it is done; fails if the process ends."""
    wait_for(lambda: not process.alive or done(), PATIENCE_S, event)
    assert process.alive, process.said


def output_of(here: Here, name: str, *words: str) -> str:
    """Returns the output of a command in the container of a service; its exit code must be 0."""
    done = here.run(name, *words)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def health_check() -> list[str]:
    """Returns the command of the image's own check."""
    (check,) = values_of("HEALTHCHECK")
    command: list[str] = json.loads(check.split("CMD ")[1])
    return command


def answer_of_service(here: Here, path: str) -> str:
    """Returns the answer of the service's health page if it is healthy, else an empty text."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{here.port(str(METRICS))}{path}", timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError:
        return ""


def stop(process: Process, code: int = 0) -> None:
    """Sends SIGTERM; the exit code must be `code`."""
    process.send(signal.SIGTERM)
    assert process.wait() == code, process.said
