"""The commands of the pages on operations and deploying, as they are printed, with a real broker and Spark."""

import json
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from demo.topics import admin
from tests.deploy.files import DEPLOYING, ROOT, commands_of, section_of
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import in_turn
from tests.support.services import ANY_TIMESTAMP, running
from tests.support.spark_reader import spark_reader
from tests.support.topic_writer import event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import forget, has_read, milliseconds, page_views, rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.broker

MINUTE, HOUR = 60_000, 3_600_000
MAY_1 = 1_714_521_600_000  # 2024-05-01T00:00:00Z
PATIENCE_S = 600
OPERATIONS = ROOT / "docs" / "operations.md"
FOLDERS = re.compile(r"/(etc|data|srv|backup)/")
Views = Counter[tuple[str, int]]
"""Page views by user and start of the minute."""


@dataclass
class Host:
    """A machine with the folders that the pages name, and a service by the settings in `/etc/tidemark.toml`."""

    root: Path
    broker: Cluster

    def path(self, text: str) -> str:
        """Returns a text of a page with the paths of this host."""
        return FOLDERS.sub(rf"{self.root}/\1/", text)

    def configure(self, name: str, topic: str, warehouse: str) -> None:
        """Writes the settings of a service."""
        lines = [
            f'warehouse = "{self.path(warehouse)}"',
            f'kafka = {{bootstrap_servers = "{self.broker.bootstrap_servers}", topic = "{topic}"}}',
            "metrics = {port = 0}",
            "[spark.conf]",
            *(f'"{key}" = "{value}"' for key, value in BRIEF_DRIVER.items()),
        ]
        (self.root / "etc" / name).write_text("\n".join(lines))

    def settings(self) -> Settings:
        """Returns the settings of the service."""
        return Settings(**tomllib.loads((self.root / "etc" / "tidemark.toml").read_text()))

    def run(self, *words: str) -> int:
        """Runs a command of a page; a service that is started reads to the end of the topic."""
        match [self.path(word) for word in words]:
            case ["systemctl", "start", _]:
                return main(["run", "--config", self.path("/etc/tidemark.toml"), "--until-caught-up"])
            case ["systemctl", "stop", _]:
                return 0
            case ["tidemark", *arguments]:
                return main(arguments)
            case command:
                return subprocess.run(command, check=False, cwd=self.root).returncode

    def do(self, page: Path, heading: str) -> None:
        """Runs the commands of a section."""
        commands = commands_of(section_of(page, heading))
        assert commands
        for words in commands:
            assert self.run(*words) == 0, words


@pytest.fixture
def host(broker: Cluster, tmp_path: Path) -> Host:
    for name in ("etc", "data", "srv", "backup"):
        (tmp_path / name).mkdir()
    return Host(tmp_path, broker)


@pytest.fixture
def topic(host: Host, make_topic: Callable[..., str]) -> str:
    """The topic of the service."""
    name = make_topic(1, **ANY_TIMESTAMP)
    host.configure("tidemark.toml", name, "/data/tidemark")
    return name


def times(first: float, last: float) -> list[int]:
    """Every twenty minutes, between two hours of the first of May."""
    return [MAY_1 + n * 20 * MINUTE for n in range(round(first * 3), round(last * 3))]


def add(host: Host, topic: str, when: Iterable[int]) -> None:
    send(host.broker.bootstrap_servers, topic, [event("ann", time) for time in when])


def of(when: Iterable[int]) -> Views:
    """Returns the page views of events, of which each but the last has a published window."""
    return Counter(("ann", time) for time in [*when][:-1])


def shown(warehouse: Path) -> Views:
    assert_conserved(warehouse)
    return Counter({(user, start): views for (user, start, _), (views, *_) in page_views(warehouse).items()})


def lines_with(warehouse: Path, path: str) -> Iterator[str]:
    """Yields the kind of each action in the tables' logs that has a path; fails if another file has it."""
    for file in filter(Path.is_file, warehouse.rglob("*")):
        if path.encode() in file.read_bytes():
            assert file.suffix == ".json", file
            yield from (next(iter(json.loads(line))) for line in file.read_text().splitlines() if path in line)


@in_turn(0, 2)
def test_a_copy_of_a_running_service_is_restored_and_every_event_counts_once(host: Host, topic: str) -> None:
    warehouse = host.root / "data" / "tidemark"
    add(host, topic, times(0, 4))
    assert host.run("systemctl", "start", "tidemark") == 0
    copies, without_stop = section_of(OPERATIONS, "Copy").split("**Without a stop**")
    for words in commands_of(copies):
        assert host.run(*words) == 0, words
    with open_service(host.settings()) as service, running(service):
        for words in commands_of(without_stop):
            assert host.run(*words) == 0, words
            if words[0] == "cp":  # a batch that the copied ledger does not have, and the other tables do
                add(host, topic, [times(0, 4)[-1] + 1])
                wait_for(lambda: has_read(warehouse, 13), PATIENCE_S, "the batch")
    add(host, topic, times(4, 6))
    host.do(OPERATIONS, "Restore")
    forget()
    expected = Counter({("ann", times(0, 4)[-1]): 1}) + of(times(0, 6))
    assert shown(warehouse) == expected

    gone, client = TopicPartition(topic, 0, 15), admin(host.broker.bootstrap_servers)
    client.delete_records([gone])[gone].result(PATIENCE_S)
    shutil.rmtree(warehouse)
    shutil.copytree(host.root / "backup" / "tidemark", warehouse)
    run = ["run", "--config", str(host.root / "etc" / "tidemark.toml"), "--until-caught-up"]
    assert main(run) == 2
    assert main([*run, "--kafka.on-data-loss", "record"]) == 0
    forget()
    assert sum(row["lost"] for row in rows(warehouse, "ledger")) == 3
    assert assert_conserved(warehouse).counted == 12 + 4


@in_turn(1, 2)
def test_a_warehouse_is_moved_and_its_reports_go_on_with_a_mirror_of_the_topic(
    host: Host, topic: str, make_topic: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    add(host, topic, times(0, 4))
    assert host.run("systemctl", "start", "tidemark") == 0
    add(host, topic, times(4, 24))
    host.do(OPERATIONS, "To another folder, disk or store")
    moved = host.root / "srv" / "tidemark"
    assert shown(moved) == of(times(0, 24))
    assert {*lines_with(moved, str(host.root))} <= {"commitInfo"}

    moved.rename(host.root / "data" / "tidemark")
    mirror = make_topic(1, **ANY_TIMESTAMP)
    host.configure("tidemark.toml", topic, "/data/tidemark")
    host.configure("moved.toml", mirror, "/data/moved")
    add(host, topic, times(24, 25))
    add(host, mirror, times(12, 25))  # other offsets: the mirror began later
    add(host, mirror, times(25, 30))
    wrong = ("--config", "/etc/moved.toml", "--warehouse", "/data/tidemark", "--until-caught-up")
    assert host.run("tidemark", "run", *wrong) == 2
    assert "or another warehouse (docs/operations.md#move)" in capfd.readouterr().err
    host.do(OPERATIONS, "To another topic or cluster")
    (view,) = re.findall(r"```sql\n(.*?)```", section_of(OPERATIONS, "Move"), re.DOTALL)
    found = spark_reader().sql(host.path(view)).to_pylist()
    views = Counter({(row["user_id"], milliseconds(row["window_start"])): row["page_views"] for row in found})
    assert len(found) == len(views)
    assert views == of(times(0, 30))


def test_a_day_a_report_and_a_second_topic_have_warehouses_of_their_own(
    host: Host, topic: str, make_topic: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    other = make_topic(1, **ANY_TIMESTAMP)
    add(host, topic, times(-6, 30))
    add(host, other, times(0, 2))
    assert host.run("systemctl", "start", "tidemark") == 0
    host.do(OPERATIONS, "A day")
    printed = capfd.readouterr().out
    assert printed.count(",ann,1,") == len(times(0, 24))
    assert "2024-05-01" in (host.root / "data" / "may-1.html").read_text()
    host.do(OPERATIONS, "A report with history")
    hours = Counter(round(row["window_start"].timestamp()) for row in rows(host.root / "data" / "green", "by_hour"))
    assert sorted(hours) == [(MAY_1 + hour * HOUR) // 1000 for hour in range(-6, 29)]
    host.do(OPERATIONS, "Blue and green")
    assert (host.root / "data" / "current").resolve() == host.root / "data" / "green"

    host.configure("clicks.toml", topic, "/data/clicks")
    host.configure("orders.toml", other, "/data/orders")
    host.do(DEPLOYING, "Several topics on one host")
    assert shown(host.root / "data" / "orders") == of(times(0, 2))
