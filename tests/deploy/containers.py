"""What the containers of docker-compose.yml run, as processes of this machine."""

import sys
from pathlib import Path

from tests.deploy.files import ROOT, services
from tests.support.processes import Process

INSIDE = "kafka:19092"
TOPIC = "user-events"


def variables(name: str) -> dict[str, str]:
    """The TIDEMARK_ variables of a service."""
    environment = services()[name].get("environment", {})
    return {key: value for key, value in environment.items() if key.startswith("TIDEMARK_")}


def words_of(name: str, broker: str = INSIDE, topic: str = TOPIC) -> list[str]:
    """A service's command, for another broker and topic."""
    words: list[str] = services()[name]["command"]
    return [word.replace(INSIDE, broker).replace(TOPIC, topic) for word in words]


def started(program: str, words: list[str], folder: Path, told: dict[str, str]) -> Process:
    """An entry point of the image at work, here."""
    executable = str(Path(sys.executable).with_name(program))
    return Process([executable, *words], folder / f"{program}-{words[0]}.log", {"PYTHONPATH": str(ROOT), **told})
