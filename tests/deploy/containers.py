"""The containers of docker-compose.yml as processes: their commands, variables and files, on this machine."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from confluent_kafka.admin import NewTopic

from demo.children import free_port
from demo.topics import admin
from tests.deploy.files import ROOT, services
from tests.support.brief_java import BRIEF_JVM
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_S
from tidemark.pipeline.runtime.jars import jars_of
from tidemark.pipeline.runtime.java import find_java

HOST: Final = "127.0.0.1"
ENTRY: Final = [sys.executable, str(ROOT / "deploy" / "docker" / "entrypoint.py")]
_PORTS: Final = re.compile(r"\b(19092|29093|9092|9477|9478|9479|10000|8480)\b")
_NAMES: Final = {"//:": f"//{HOST}:", "kafka:": f"{HOST}:", "0.0.0.0": HOST}  # noqa: S104 - there
_OF_SCRIPTS: Final = {"KAFKA_HEAP_OPTS"}
_IN_A_NAMESPACE: Final = (shutil.which("unshare") or "", "--map-root-user", "--mount")
_READ_ONLY: Final = 'mount --bind "$1" "$1" && mount -o remount,bind,ro / && shift && exec "$@"'
"""Only writable folders are mounted; the last command replaces the shell."""


@dataclass
class Here:
    """Maps ports, host names and volumes of the containers to this machine."""

    folder: Path
    ports: dict[str, int] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        """A text of the file for this machine."""
        text = _PORTS.sub(lambda found: str(self.port(found[0])), text)
        for there, here in _NAMES.items():
            text = text.replace(there, here)
        return text.replace("/var/lib/", f"{self.folder}/")

    def port(self, there: str) -> int:
        """Returns the port on this machine of a port of the containers."""
        return self.ports.setdefault(there, free_port())

    def variables(self, name: str) -> dict[str, str]:
        """The environment of a service, in its image."""
        given = services()[name].get("environment", {})
        own_variables = {key: HOST if value in services() else self(str(value)) for key, value in given.items()}
        return {**of_image(), **own_variables}

    def words(self, name: str) -> list[str]:
        """The command of a service."""
        return [self(word) for word in services()[name]["command"]]

    def kafka(self) -> Process:
        """The broker, on a disk that its image formats at the first start."""
        environment = self.variables("kafka")
        properties = self.folder / "server.properties"
        if not properties.exists():
            properties.write_text("".join(f"{name}={value}\n" for name, value in _of_kafka(environment).items()))
            identity = f"--cluster-id={environment['CLUSTER_ID']}"
            tool = ("kafka.tools.StorageTool", "format", identity, "--config", str(properties))
            with self._java("format", *tool) as formatting:
                assert formatting.wait() == 0, formatting.said
        return self._java("kafka", "kafka.Kafka", str(properties), heap=environment["KAFKA_HEAP_OPTS"])

    def make_topic(self) -> None:
        """Does the work of Kafka's own tool, which is in its image, but not in the locked jars."""
        script, *words = self.words("topic")
        assert script == "/opt/kafka/bin/kafka-topics.sh"
        assert "--create" in words
        told = dict(word.removeprefix("--").split("=", 1) for word in words if "=" in word)
        config = dict(word.split("=")[1:] for word in words if word.startswith("--config="))
        new = NewTopic(told["topic"], int(told["partitions"]), int(told["replication-factor"]), config=config)
        client = admin(told["bootstrap-server"])  # kept: without it the answer would not come
        client.create_topics([new], request_timeout=PATIENCE_S)[new.topic].result(PATIENCE_S)

    def container(self, name: str, *more: str, **more_variables: str) -> Process:
        """A container of our image that can write to volumes and /tmp only, as far as a test may have that."""
        environment = {**self.variables(name), **more_variables}
        temporary = self.folder / f"tmp-{name}"
        temporary.mkdir(exist_ok=True)
        environment |= {"TMPDIR": str(temporary), "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}"}
        confined = [*_IN_A_NAMESPACE, "/bin/sh", "-c", _READ_ONLY, "sh", str(self.folder)] if _can_confine() else []
        words = self.words(name)
        return Process([*confined, *ENTRY, *words, *more], self.folder / f"{name}.log", environment)

    def run(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Returns the output of a command in the container of a service."""
        # The service refuses settings that it does not know, such as those of tests.
        of_machine = {key: value for key, value in os.environ.items() if not key.startswith("TIDEMARK_TEST_")}
        environment = {**of_machine, **self.variables(name)}
        program, *rest = (self(word) for word in words)
        found = shutil.which(program, path=environment["PATH"])
        assert found, f"the image has no {program}"
        return subprocess.run(
            [found, *rest], env=environment, check=False, capture_output=True, text=True, timeout=PATIENCE_S
        )

    def _java(self, name: str, main: str, *arguments: str, heap: str = "-Xmx128m") -> Process:
        """A class of the locked jars at work."""
        path = os.pathsep.join(map(str, jars_of("broker")))
        command = [str(find_java() / "bin" / "java"), heap, BRIEF_JVM, "-cp", path, main, *arguments]
        return Process(command, self.folder / f"{name}.log")


def of_image() -> dict[str, str]:
    """Where the image's programs are."""
    return {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def entry(log: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> Process:
    """The image at work with these arguments and variables."""
    return Process([*ENTRY, *arguments], log, {**of_image(), **environment})


def _of_kafka(environment: Mapping[str, str]) -> dict[str, str]:
    """The properties that Kafka's image makes of its variables. Source: its `KafkaDockerWrapper`."""
    kept = {name: value for name, value in environment.items() if name.startswith("KAFKA_") and name not in _OF_SCRIPTS}
    return {name.removeprefix("KAFKA_").lower().replace("_", "."): value for name, value in kept.items()}


@cache
def _can_confine() -> bool:
    """Returns whether a process on this machine may have its own mounts."""
    command = [*_IN_A_NAMESPACE, "true"]
    return bool(command[0]) and subprocess.run(command, check=False, capture_output=True).returncode == 0
