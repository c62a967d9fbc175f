"""The commands of "The demo" in `docs/start.md`, and compose's verbs in them by podman."""

import signal
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg
from deltalake import DeltaTable

from dev.podman import podman
from tests.deploy.containers import Here
from tests.deploy.files import ROOT, SERVICE, commands_of, section_of, services, stop_grace_s
from tests.deploy.podman import Container, Containers
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import records, rows

PAGE: Final = section_of(ROOT / "docs" / "start.md", "The demo")
VERBS: Final = {"up", "logs", "exec", "stop", "start", "down"}
SQL: Final = 10000
PORT_OPTIONS: Final = {"dashboard": ("--dashboard.port", "9478"), "sql": ("--port", "10000")}
"""Options of services whose port is not in their command of compose."""


def compose_commands() -> Iterator[tuple[list[str], list[str]]]:
    """Splits each compose command into leading options and the rest."""
    for words in commands_of(PAGE):
        if words[0] == "docker":
            yield split(words)


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """Splits a compose command into leading options and the rest."""
    assert words[1] == "compose"
    rest = words[2:]
    start = next(index for index, word in enumerate(rest) if word in VERBS)
    return rest[:start], rest[start:]


def asked(here: Here, address: str, option: str, statement: str) -> list[tuple[Any, ...]]:
    """Returns the output of psql by another client, because test machines may lack psql."""
    assert option == "-c"
    with psycopg.connect(address.replace(f":{SQL}", f":{here.port(str(SQL))}")) as client:
        return client.execute(statement.encode()).fetchall()


@dataclass
class Compose:
    """Runs the page's commands; the broker, whose image is not ours, is a process."""

    here: Here
    containers: Containers
    variables: dict[str, str]
    running: dict[str, Container] = field(default_factory=dict)
    kafka: Process | None = None

    def __call__(self, words: list[str]) -> str:
        """Returns the output of a command of the page."""
        if words[0] == "psql":
            return str(asked(self.here, *words[1:]))
        if words[0] == "curl":
            address = self.here(words[-1]).removeprefix("http://")
            with urllib.request.urlopen(f"http://{address}", timeout=PATIENCE_S) as answer:
                return str(answer.read().decode())
        options, (verb, *rest) = split(words)
        run: Callable[..., str] = getattr(self, f"_{verb}")
        return run(*(options[1::2] if verb in {"up", "down"} else rest))

    @property
    def warehouse(self) -> Path:
        return self.containers.volume("warehouse") / "warehouse"

    def _up(self, *profiles: str) -> str:
        """Starts our services of the profiles, the service first: the SQL server would restart until it has tables."""
        if self.kafka is None:
            self._start("kafka")
            self.here.make_topic()
        chosen = [
            name
            for name, service in services().items()
            if service["image"] == SERVICE and {*service.get("profiles", profiles)} & {*profiles}
        ]
        for name in chosen:
            if name not in self.running:
                self.running[name] = self._container(name)
            if name == "producer":  # it comes after the service
                self._await(self._has_window, "a window")
        return " ".join(chosen)

    def _container(self, name: str) -> Container:
        option, port = PORT_OPTIONS.get(name, ("", ""))
        more = [option, str(self.here.port(port))] if option else []
        return self.containers.start(name, *more, **(self.variables if name == "tidemark" else {}))

    def _logs(self, name: str) -> str:
        return self.running[name].said

    def _exec(self, name: str, *words: str) -> str:
        """Raises RuntimeError with the output if the command fails."""
        return podman("exec", self.running[name].name, *words)

    def _stop(self, name: str) -> str:
        """Stops the broker; returns when the service's health reports it."""
        assert name == "kafka"
        assert self.kafka is not None
        self.kafka.send(signal.SIGTERM)
        self.kafka.wait()
        failing = "Healthy: the service failed and restarts"
        self._await(lambda: self._exec("tidemark", "tidemark", "health").startswith(failing), failing)
        return ""

    def _start(self, name: str) -> str:
        """Starts the broker; a running service reads what the producer sends."""
        assert name == "kafka"
        self.kafka = self.here.kafka()
        if self.running:
            before = records(self.warehouse)
            self._await(lambda: records(self.warehouse) > before, "more records")
        return ""

    def _down(self, *_: str) -> str:
        for name in reversed(self.running):
            self.running[name].stop(stop_grace_s(name))
        return ""

    def _has_window(self) -> bool:
        is_there = DeltaTable.is_deltatable(str(self.warehouse / "page_traffic"))
        return is_there and bool(rows(self.warehouse, "page_traffic"))

    def _await(self, done: Callable[[], bool], event: str) -> None:
        """Returns when it is done; fails when a container has ended that the page does not name."""

        def is_done() -> bool:
            self._restart_producer()
            return done()

        wait_for(is_done, PATIENCE_S, event)

    def _restart_producer(self) -> None:
        """Starts the producer if it gave up, as compose does."""
        for name, container in self.running.items():
            if not container.state["Running"]:
                assert (name, services()[name]["restart"]) == ("producer", "unless-stopped"), container.said
                container.start()

    def close(self) -> None:
        """Ends the broker."""
        if self.kafka:
            self.kafka.kill()
