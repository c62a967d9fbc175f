"""The deploy files as data."""

import re
import shlex
from pathlib import Path
from typing import Any

from tests.support.yaml_text import parsed

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "deploy" / "docker" / "Dockerfile"
PROMETHEUS = ROOT / "deploy" / "prometheus" / "prometheus.yml"
SUBMIT = ROOT / "deploy" / "spark-submit"
DEPLOYING = ROOT / "docs" / "deploying.md"
SERVICE = "tidemark:0.1.0"
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
"""Matches a variable of compose or a Dockerfile: its name, and its default in compose."""


def compose() -> dict[str, Any]:
    """docker-compose.yml, its variables at their defaults."""
    found: dict[str, Any] = parsed(VARIABLE.sub(r"\2", COMPOSE.read_text()))
    return found


def services() -> dict[str, dict[str, Any]]:
    """Its services by name."""
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, each with its arguments on one line."""
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word.upper(), " ".join(rest.split())) for word, _, rest in (line.strip().partition(" ") for line in lines)]


def bases() -> list[str]:
    """The image that each stage begins with unless it is a stage, by the defaults of the Dockerfile's arguments."""
    defaults = dict(rest.split("=") for rest in values_of("ARG"))
    begun = [VARIABLE.sub(lambda found: defaults[found[1]], rest).partition(" AS ") for rest in values_of("FROM")]
    return [image for image, _, _ in begun if image not in {stage for _, _, stage in begun}]


def values_of(instruction: str) -> list[str]:
    """The arguments of each instruction by this name."""
    return [rest for word, rest in instructions() if word == instruction]


def stop_grace_s(service: str) -> int:
    """Returns how long a service of compose may take to stop; Docker's default is 10 s."""
    return int(services()[service].get("stop_grace_period", "10s").removesuffix("s"))


def section_of(document: Path, heading: str) -> str:
    """Returns the section of a Markdown file with this heading, including the sections below it."""
    text = document.read_text()
    (start,) = re.finditer(rf"^(##+) {re.escape(heading)}$", text, re.MULTILINE)
    after = text[start.end() :]
    end = re.search(rf"^#{{2,{len(start[1])}}} ", after, re.MULTILINE)
    return after[: end.start()] if end else after


def commands_of(text: str) -> list[list[str]]:
    """The words of each command in the shell blocks of a part of a Markdown file."""
    blocks = text.split("```sh\n")[1:]
    lines = "".join(block.split("```")[0] for block in blocks).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]
