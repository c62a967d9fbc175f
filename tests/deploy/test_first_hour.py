"""The commands of `docs/first-hour.md`: what compose is told exists, and what runs in its containers runs here."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.children import free_port
from tests.deploy.containers import started, variables, words_of
from tests.deploy.files import ROOT, services, shell_commands
from tests.deploy.rules import RULES
from tests.support.against_truth import ledger_version
from tests.support.kafka_cluster import Cluster
from tests.support.processes import SMALL_DRIVER, Process
from tests.support.waiting import wait_for
from tests.support.warehouse import rows

PAGE = ROOT / "docs" / "first-hour.md"
PATIENCE_S = 180
METRICS, SQL = 9477, 10000
VERBS = {"up", "logs", "exec", "stop", "start", "down"}


def told() -> Iterator[tuple[list[str], list[str]]]:
    """Of each command to compose its options in front, and the rest."""
    for words in shell_commands(PAGE):
        if words[0] == "docker":
            assert words[1] == "compose"
            rest = words[2:]
            begin = next(
                place for place, word in enumerate(rest) if word in {"up", "logs", "exec", "stop", "start", "down"}
            )
            yield rest[:begin], rest[begin:]


def test_compose_has_the_profiles_and_services_that_the_page_names() -> None:
    profiles = {profile for service in services().values() for profile in service.get("profiles", [])}
    verbs = set()
    for options, (verb, *words) in told():
        verbs.add(verb)
        assert options[::2] == ["--profile"] * (len(options) // 2)
        assert {*options[1::2]} <= profiles
        named = words[:1] if verb == "exec" else [word for word in words if not word.startswith("--")]
        assert {*named} <= {*services()}
    assert verbs == VERBS


def test_the_page_tells_ports_and_alerts_that_exist() -> None:
    page, published = PAGE.read_text(), [port for one in services().values() for port in one.get("ports", [])]
    for port in (METRICS, SQL, 3000, 9093):
        assert f"127.0.0.1:{port}" in page
        assert f"127.0.0.1:{port}:{port}" in published
    rules = (RULES / "alerts.yml").read_text()
    assert "`TidemarkFailing`" in page
    assert "alert: TidemarkFailing\n        expr: increase(tidemark_failures_total[5m]) > 0\n        for: 5m" in rules


@pytest.mark.timeout(600)
def test_what_the_page_runs_in_containers_runs_and_tells_something(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, warehouse = make_topic(partitions=4), tmp_path / "warehouse"
    metrics, sql = free_port(), free_port()
    place = {"TIDEMARK_WAREHOUSE": str(warehouse)}
    page = {"TIDEMARK_METRICS__HOST": "127.0.0.1", "TIDEMARK_METRICS__PORT": str(metrics)}
    # A test does not wait for the first minute to fire.
    own = {**variables("tidemark"), **SMALL_DRIVER, **place, **page, "TIDEMARK_WINDOW__SIZE": "2s"}
    with (
        started("producers", words_of("producer", broker.bootstrap_servers, topic), tmp_path, {}),
        started("tidemark", words_of("tidemark", broker.bootstrap_servers, topic), tmp_path, own) as service,
    ):
        wait_for(lambda: _has_windows(warehouse) or not service.alive, PATIENCE_S, "a window")
        assert service.alive, service.said
        verb, *_ = words_of("sql")
        words = [verb, "--host", "127.0.0.1", "--port", str(sql), "--memory", "1g"]
        with started("tidemark", words, tmp_path, place) as end:
            wait_for(lambda: "the SQL end point is open" in end.said or not end.alive, PATIENCE_S, "the end point")
            said = [_run(words[1:], own, sql) for _, (verb, *words) in told() if verb == "exec"]
            _stop(end)
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=PATIENCE_S) as answer:
            assert b"tidemark_watermark" in answer.read()
        _stop(service)
    assert said[0].startswith("Well: ")
    assert "page_views_live" in said[3]
    assert "page_url" in said[4]


def _has_windows(warehouse: Path) -> bool:
    return ledger_version(warehouse) > 2 and bool(rows(warehouse, "page_traffic"))


def _run(words: list[str], variables: dict[str, str], port: int) -> str:
    """What a command says in a container that has these variables, and whose end point is on another port here."""
    program, *rest = [word.replace(f":{SQL}", f":{port}") for word in words]
    executable = Path(sys.executable).with_name(program)
    assert executable.exists(), f"the image has no {program}"
    ended = subprocess.run(
        [executable, *rest],
        # As in the image, where this environment's programs are the first that are found.
        env={**os.environ, **variables, "PATH": f"{executable.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, f"{words}: {ended.stderr}"
    return ended.stdout


def _stop(process: Process) -> None:
    process.send(signal.SIGTERM)
    assert process.wait() == 0, process.said
