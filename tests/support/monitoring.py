"""A real Prometheus and Alertmanager with the shipped configuration, on ports of their own, and a receiver."""

import json
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import yaml

from demo.children import free_port
from tests.deploy.files import PROMETHEUS
from tests.deploy.rules import ALERTMANAGER, RULES, tool
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.yaml_text import parsed

FASTER: Final = 25
"""Divides the durations of the shipped rules, so that alerts soon fire and end: `for`, ranges and offsets.

The ranges of failures stay: a service that fails again and again pauses up to a minute in between.
"""
_OF_PROMETHEUS: Final = ("__name__", "alertstate")
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"(\d+)([smhdw])")
_DURATIONS: Final = re.compile(r"(?<=[\[:])(?<!failures_total\[)(?:\d+[smhdw])+(?=[\]:])|(?<=offset )(?:\d+[smhdw])+")
"""Matches ranges and offsets; thresholds have no unit."""


@dataclass
class Receiver:
    """The firing alerts that a webhook was sent, each once, as their labels."""

    alerts: list[dict[str, str]] = field(default_factory=list)

    def take(self, message: Mapping[str, Any]) -> None:
        for alert in message["alerts"]:
            if alert["status"] == "firing" and alert["labels"] not in self.alerts:
                self.alerts.append(alert["labels"])


@dataclass
class Monitoring:
    """The running programs, and the notifications that the receiver got."""

    folder: Path
    port: int
    receiver: Receiver

    def watch(self, *ports: int, job: str = "tidemark") -> None:
        """From now on Prometheus asks the processes on these ports, for one of the shipped jobs."""
        targets = self.folder / f"{job}.json"
        unfinished = targets.with_suffix(".unfinished")
        unfinished.write_text(json.dumps([{"targets": [f"127.0.0.1:{port}" for port in ports]}]))
        unfinished.replace(targets)

    def firing(self) -> set[str]:
        """The names of the alerts that fire now, also those that Alertmanager suppresses."""
        return {labels["alertname"] for labels in self.alerts()}

    def alerts(self) -> list[dict[str, str]]:
        """The labels of the alerts that fire now, also of those that Alertmanager suppresses."""
        firing = self.ask('ALERTS{alertstate="firing"}')
        return [{name: value for name, value in one["metric"].items() if name not in _OF_PROMETHEUS} for one in firing]

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The samples that a query returns now."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return found


@contextmanager
def monitoring(folder: Path, service: int, *, is_faster: bool = True) -> Iterator[Monitoring]:
    """Runs all three for the service on a port; skips the test if a program is missing.

    If it is not faster, it has the pace of the shipped configuration.
    """
    prometheus, alertmanager = tool("prometheus"), tool("prometheus-alertmanager")
    folder.mkdir()
    receiver, ports = Receiver(), (free_port(), free_port())
    with ExitStack() as stack:
        _write(folder / "alertmanager.yml", _alertmanager(stack.enter_context(_webhook(receiver)), is_faster=is_faster))
        _write(folder / "prometheus.yml", _prometheus(folder, ports[1], is_faster=is_faster))
        watching = Monitoring(folder, ports[0], receiver)
        watching.watch(service)
        for name, program, port, options in (
            ("alertmanager", alertmanager, ports[1], ["--cluster.listen-address="]),
            ("prometheus", prometheus, ports[0], ["--rules.alert.resend-delay=5s"]),
        ):
            stack.enter_context(_started(folder, name, [program, *options], port))
        yield watching


def _prometheus(folder: Path, alertmanager: int, *, is_faster: bool) -> Mapping[str, Any]:
    """Returns the shipped configuration with these rules and targets; if it is faster, it asks every two seconds.

    A target that does not answer in that time ends every alert about it, and its duration begins again.
    """
    shipped = parsed(PROMETHEUS.read_text())
    for file in RULES.glob("*.yml"):
        rules = parsed(file.read_text())
        _write(folder / "rules" / file.name, faster(rules) if is_faster else rules)
    jobs = [job["job_name"] for job in shipped["scrape_configs"]]
    often = {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"}
    return {
        **shipped,
        "global": often if is_faster else shipped["global"],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]},
        "scrape_configs": [
            {"job_name": job, "file_sd_configs": [{"files": [str(folder / f"{job}.json")], "refresh_interval": "1s"}]}
            for job in jobs
        ],
    }


def faster(rules: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the shipped rules with shorter durations."""
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        rule["expr"] = _DURATIONS.sub(lambda match: _shorter(match[0]), rule["expr"])
        rule |= {key: _shorter(rule[key]) for key in ("for", "keep_firing_for") if key in rule}
    return rules


def _shorter(duration: str) -> str:
    """Divides a duration, such as `23h30m`, by `FASTER`."""
    parts = [int(count) * _UNITS_S[unit] for count, unit in _DURATION.findall(duration)]
    return f"{sum(parts) * 1000 // FASTER}ms"


def _alertmanager(webhook: int, *, is_faster: bool) -> Mapping[str, Any]:
    """Returns the shipped configuration with a receiver; if it is faster, without waiting times and groups."""
    shipped = parsed(ALERTMANAGER.read_text())
    at_once = {"group_by": ["..."], "group_wait": "2s", "group_interval": "1s", "repeat_interval": "1h"}
    (receiver,) = shipped["receivers"]
    receiver["webhook_configs"] = [{"url": f"http://127.0.0.1:{webhook}/"}]
    return {**shipped, "route": shipped["route"] | at_once} if is_faster else shipped


@contextmanager
def _webhook(receiver: Receiver) -> Iterator[int]:
    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.take(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server.server_port
        server.shutdown()


@contextmanager
def _started(folder: Path, name: str, command: Sequence[str | Path], port: int) -> Iterator[None]:
    options = [
        f"--config.file={folder / name}.yml",
        f"--storage.{'tsdb.path' if name == 'prometheus' else 'path'}={folder / name}-data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with Process([*map(str, command), *options], folder / f"{name}.log") as process:
        wait_for(lambda: answers(port, "/-/ready") or not process.alive, PATIENCE_S, f"an answer of {name}")
        assert process.alive, process.said
        yield


def answers(port: int, path: str) -> bool:
    """Whether a page of this machine is well."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_S) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _write(path: Path, data: Mapping[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(data))
