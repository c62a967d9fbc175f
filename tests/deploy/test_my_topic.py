"""The commands of "Your own topic" in `docs/start.md`, with the installed wheel and a broker that has such a topic."""

import io
import json
import re
from pathlib import Path
from typing import Any

import fastavro
import pytest

from tests.deploy.files import ROOT, commands_of, section_of
from tests.deploy.wheel import java_variables, run
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import in_turn
from tests.support.topic_writer import Raw, send
from tidemark.producers.encode import header

pytestmark = pytest.mark.slow
START = ROOT / "docs" / "start.md"
PAGE = section_of(START, "Your own topic")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""Matches a code block: its language and its text."""
TOPIC = "shop.actions"
NOON = 1_714_564_800_000
"""2024-05-01T12:00:00Z."""


def block(language: str) -> str:
    """Returns the only code block of the section in this language."""
    (text,) = [text for found, text in BLOCK.findall(PAGE) if found == language]
    return str(text)


def record(partition: int, second: int, user: int | None, act: str = "view", url: str | None = "/") -> Raw:
    """Returns an event of the section's schema, seconds after noon."""
    at, body = NOON + second * 1_000, io.BytesIO()
    event: dict[str, Any] = {"meta": {"origin": "web", "at": at * 1_000 + 999}, "customer": {"id": user}}
    schema = fastavro.parse_schema(json.loads(block("json")))
    fastavro.schemaless_writer(body, schema, event | {"act": act, "url": url})
    return Raw(header(1047) + body.getvalue(), partition=partition, timestamp_ms=at)


EVENTS = [
    # minute    |         12:00          |      12:01       | 12:03
    # user 7      5 view, 20 tap             70 view         181 view
    # user 8      50 view, 58 view (after 70)
    # user 12                                90 tap          180 view
    record(0, 5, 7),
    record(0, 20, 7, "tap", "/sale"),
    record(1, 50, 8, url=None),
    record(1, 95, 8, "scroll"),
    record(0, 65, 7, "scroll"),
    record(0, 70, 7),
    record(1, 58, 8),
    record(0, 90, 12, "tap"),
    record(0, 91, None),
    record(1, 180, 12),
    record(0, 181, 7),
]


@in_turn(1, 4)
def test_the_page_leads_from_the_wheel_to_right_windows(
    broker: Cluster, wheel_environment: Path, tmp_path: Path
) -> None:
    broker.create_topic(TOPIC, 2)
    send(broker.bootstrap_servers, TOPIC, EVENTS)
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "action.1047.avsc").write_text(block("json"))
    (tmp_path / "tidemark.toml").write_text(block("toml").replace("kafka:9092", broker.bootstrap_servers))
    variables = {**java_variables(), "TIDEMARK_SPARK__CONF": json.dumps(BRIEF_DRIVER), "TIDEMARK_METRICS__PORT": "0"}
    install, *_ = commands_of(section_of(START, "Install"))
    assert install[:2] == ["pip", "install"]
    assert install[2].startswith("./" + next(wheel_environment.parent.glob("*.whl")).name)
    printed = ""
    for words in commands_of(PAGE):
        match words:
            case ["echo", line, ">>", name]:
                with (tmp_path / name).open("a") as file:
                    file.write(f"{line}\n")
            case _:
                done = run(wheel_environment, tmp_path, *words, **variables)
                assert done.returncode == 0, (words, done.stdout, done.stderr)
                printed += done.stdout
    answers = [text for language, text in BLOCK.findall(PAGE) if not language]
    assert len(answers) == 4
    assert [answer for answer in answers if answer not in printed] == [], printed
