"""Against a real broker: a run that is killed and started again neither loses nor repeats a line."""

import json
import random
import subprocess
import sys
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from demo.children import free_port
from demo.topics import admin
from tests.producers.access_log.log_writer import COMPRESS, Server
from tests.producers.recount import decode
from tests.producers.test_producers_delivery import PARTITIONS, Watch, committed_values
from tests.support.kafka_cluster import Cluster
from tests.support.nginx import PERSONS, ROBOTS
from tests.support.processes import Process, producers
from tests.support.seeds import SEED
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.producers.access_log import access_log_run
from tidemark.producers.access_log.follow import Line
from tidemark.producers.access_log.formats import combined
from tidemark.producers.access_log.line_metrics import LINES
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.access_log.sessions import Sessions
from tidemark.producers.access_log.state import RunState
from tidemark.producers.access_log.transactions import Transactions
from tidemark.producers.access_log.visits import VisitRules, Visits
from tidemark.producers.broker import Target
from tidemark.producers.cli import main
from tidemark.producers.errors import SetUpError
from tidemark.producers.pseudonym import Pseudonyms

pytestmark = [pytest.mark.broker, pytest.mark.core]

MakeTopic = Callable[..., str]
SALT = "0123456789abcdef0123456789abcdef"
START = datetime(2024, 5, 1, tzinfo=UTC)
PATHS = {"/page-{}": 8, "/style-{}.css": 3, "/.env": 1}
LIVES = pytest.mark.parametrize("lives", [2, pytest.param(4, marks=pytest.mark.nightly)], ids=["sample", "all"])
"""The first two rotate the log by a copy and by a name."""
OPEN_LONG = {"transaction.timeout.ms": 900_000}
"""The longest time for which a broker lets a transaction be open, so that a slow machine does not end it."""
EVENT = ("page_url", "user_id", "session_id", "event_time", "user_agent", "referrer")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "salt").write_text(SALT)
    (tmp_path / "log").mkdir()
    with closing(Server(tmp_path / "log")) as one:
        yield one


def busy(server: Server, count: int, chance: random.Random) -> None:
    """Makes more lines of a site: a hundred users and bots, each line with its own page, 2 s apart."""
    for number in range(len(server.written), len(server.written) + count):
        person = chance.randrange(100)
        path = chance.choices(list(PATHS), list(PATHS.values()))[0].format(number)
        agent = ROBOTS[0] if person < 10 else PERSONS[person % 2]
        moment = START + timedelta(seconds=2 * number - chance.randrange(3))
        written = f'10.0.0.{person} - - [{moment:%d/%b/%Y:%H:%M:%S %z}] "GET {path} HTTP/1.1" 200 9 "-" "{agent}"'
        server.say(written.encode())
    server.write()


def options(broker: Cluster, topic: str, server: Server, *more: str) -> list[str]:
    where = ["--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, "--state-topic", f"{topic}-state"]
    rules = ["--salt-file", str(server.folder.parent / "salt"), "--session-gap", "10m", "--settle", "100ms"]
    return ["access-log", str(server.log), "--name", "web-1", *where, *rules, *more]


def events(broker: Cluster, topic: str) -> list[dict[str, Any]]:
    """Returns the records that a reader of committed records gets."""
    return [event for value in committed_values(broker, topic) if (event := decode(value))]


def by_user(found: list[dict[str, Any]]) -> dict[str, list[tuple[object, ...]]]:
    """Returns the events of each user in order, without the ids that depend on the position of a line."""
    users: dict[str, list[tuple[object, ...]]] = defaultdict(list)
    for event in found:
        users[event["user_id"]].append(tuple(event[name] for name in EVENT))
    return users


def undisturbed(server: Server) -> tuple[list[dict[str, Any]], Counter[LineOutcome]]:
    """Returns the events and counts of an undisturbed run over all lines."""
    visits = Visits("web-1", VisitRules(combined), Pseudonyms(SALT.encode()), Sessions(600_000))
    return visits.events_from(Line(text, 0) for text in server.written), visits.counts


def kept(broker: Cluster, topic: str) -> RunState:
    """Returns the state of the run on the state topic."""
    reader = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "test", "isolation.level": "read_committed"}
    consumer = Consumer({**reader, "enable.partition.eof": True})
    consumer.assign([TopicPartition(f"{topic}-state", 0, 0)])
    records = []
    while (message := consumer.poll(PATIENCE_S)) is not None and message.error() is None:
        records.append((message.key() or b"", message.value()))
    consumer.close()
    return RunState.from_records("web-1", records)


def disturb(server: Server, life: int) -> None:
    """Rotates the log like logrotate, in turn by each method."""
    if life % 3 == 0:
        server.copy()
        server.truncate()
    else:
        server.rename()
        server.reopen()
        server.compress(2, list(COMPRESS)[life])


@LIVES
def test_a_killed_run_neither_loses_nor_repeats_a_line(
    broker: Cluster, make_topic: MakeTopic, server: Server, tmp_path: Path, lives: int
) -> None:
    topic, chance = make_topic(PARTITIONS), random.Random(SEED)
    seen = Watch(admin(broker.bootstrap_servers), topic).log_ends
    busy(server, 10_000, chance)
    for life in range(lives):
        disturb(server, life)
        busy(server, 10_000, chance)
        before = wait_for(seen, PATIENCE_S, "an answer")
        with producers(tmp_path / "said", *options(broker, topic, server)) as process:
            while process.alive and seen() in (None, before):
                busy(server, 5, chance)
            assert process.lives_for(chance.random() / 2), process.said
            busy(server, 2_000, chance)
    assert main(options(broker, topic, server, "--until-caught-up")) == 0
    expected, counts = undisturbed(server)
    found = events(broker, topic)
    assert len(found) == len(expected) > len(server.written) / 3
    assert by_user(found) == by_user(expected)
    assert len({event["event_id"] for event in found}) == len(found)
    assert kept(broker, topic).counts == counts
    assert counts.total() == len(server.written)
    assert "is gone" not in (tmp_path / "said").read_text()


def test_another_process_of_the_name_takes_over_and_the_older_one_ends(
    broker: Cluster, make_topic: MakeTopic, server: Server, tmp_path: Path
) -> None:
    topic = make_topic(PARTITIONS)
    seen = Watch(admin(broker.bootstrap_servers), topic).log_ends
    busy(server, 300, random.Random(1))
    with following(broker, topic, server, tmp_path / "older") as older:
        wait_for(lambda: sum(seen() or []), PATIENCE_S, "a visit")
        assert main(options(broker, topic, server, "--until-caught-up")) == 0
        busy(server, 300, random.Random(2))
        assert older.wait(PATIENCE_S) == 2
        assert "another process runs under the name web-1 and has taken over" in older.said
    assert main(options(broker, topic, server, "--until-caught-up")) == 0
    assert by_user(events(broker, topic)) == by_user(undisturbed(server)[0])


def test_what_an_older_process_commits_until_it_is_replaced_is_not_sent_again(
    broker: Cluster, make_topic: MakeTopic, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, begun = make_topic(PARTITIONS), list[object]()
    busy(server, 300, random.Random(1))
    run = options(broker, topic, server, "--until-caught-up")

    def replacing(*arguments: Any) -> Transactions:
        """Lets the older process read and commit everything at the last moment before it is fenced off."""
        begun.append(arguments)
        assert len(begun) > 1 or main(run) == 0
        return Transactions(*arguments)

    monkeypatch.setattr(access_log_run, "Transactions", replacing)
    assert main(run) == 0
    assert len(begun) == 2
    assert by_user(events(broker, topic)) == by_user(undisturbed(server)[0])


def test_a_producer_that_is_replaced_while_it_queues_reports_that(broker: Cluster, make_topic: MakeTopic) -> None:
    """A fatal error of a producer is reported only at the end of a transaction."""
    target = Target(broker.bootstrap_servers, make_topic(1))
    older, _ = (Transactions(target, 1, target.topic, "none") for _ in range(2))
    older.publisher.producer.begin_transaction()

    def queue_for_ever() -> None:
        while True:
            older.publisher.send([b"key"], [b"value"], [0])
            older.publisher.wait(0.1)

    with pytest.raises(SetUpError, match="has taken over"), older._translate_errors():
        queue_for_ever()


def test_a_start_waits_for_the_open_transaction_of_another_run(
    broker: Cluster, make_topic: MakeTopic, server: Server, tmp_path: Path
) -> None:
    """The position is after the uncommitted records of the other run, where no reader may read yet."""
    topic = make_topic(PARTITIONS)
    seen = Watch(admin(broker.bootstrap_servers), topic).log_ends
    busy(server, 300, random.Random(1))
    other = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"other-{topic}", **OPEN_LONG})
    other.init_transactions(PATIENCE_S)
    with following(broker, topic, server, tmp_path / "first") as first:
        before = wait_for(lambda: sum(seen() or []), PATIENCE_S, "a visit")
        other.begin_transaction()
        other.produce(f"{topic}-state", key="other", value="{}")
        other.flush(PATIENCE_S)
        busy(server, 300, random.Random(2))
        wait_for(lambda: sum(seen() or []) > before, PATIENCE_S, "more visits")
        first.kill()
    with producers(tmp_path / "second", *options(broker, topic, server, "--until-caught-up")) as second:
        assert second.lives_for(3), second.said
        other.abort_transaction(PATIENCE_S)
        assert second.wait(PATIENCE_S) == 0, second.said
    assert by_user(events(broker, topic)) == by_user(undisturbed(server)[0])


def test_counts_are_served_and_go_on_over_a_restart(
    broker: Cluster, make_topic: MakeTopic, server: Server, tmp_path: Path
) -> None:
    topic, port = make_topic(PARTITIONS), free_port()
    for life in range(2):
        busy(server, 300, random.Random(1))
        counts = undisturbed(server)[1]
        expected = {outcome.value: counts[outcome] for outcome in LineOutcome}
        with following(broker, topic, server, tmp_path / f"said-{life}", "--metrics-port", str(port)) as process:
            wait_for(lambda: served(port) == expected, PATIENCE_S, "the counts")  # noqa: B023
            wait_for(lambda: ". The log is followed." in process.said, PATIENCE_S, "the first counts")


def test_standard_input_is_read_to_its_end_whatever_its_lines_are(
    broker: Cluster, make_topic: MakeTopic, server: Server
) -> None:
    topic = make_topic(PARTITIONS)
    busy(server, 4_996, random.Random(1))
    line = server.written[0]
    server.say(b"\xff" * 60_000)
    server.say(line.replace(b"- - [", b"- " + b" [" * 30_000 + b" ["))
    server.say(line[: line.index(b"[")] + b'[31/Dec/9999:23:59:60 +0000] "GET / HTTP/1.1" 200 9 "-" "a"')
    server.say(b"[" * 70_000)
    command = [sys.executable, "-m", "tidemark.producers", *options(broker, topic, server)]
    command[command.index(str(server.log))] = "-"
    text = b"\n".join(server.written)
    done = subprocess.run(command, input=text, capture_output=True, check=True)
    expected, counts = undisturbed(server)
    assert by_user(events(broker, topic)) == by_user(expected)
    said = f"sent {counts[LineOutcome.VISIT]:,} visits to {topic}, of 5,000 lines of standard input in "
    assert done.stdout.decode().startswith(said)
    assert f"{counts[LineOutcome.ASSET]:,} asset" in done.stdout.decode()
    assert (counts[LineOutcome.MALFORMED], counts[LineOutcome.UNDECODABLE], counts[LineOutcome.TOO_LONG]) == (1, 1, 1)


def test_a_state_topic_that_would_forget_is_refused(
    broker: Cluster, make_topic: MakeTopic, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, other = make_topic(PARTITIONS), make_topic(1)
    server.line(3)
    server.write()
    assert main([*options(broker, topic, server), "--state-topic", other]) == 2
    assert f"{other} has cleanup.policy=delete, which would delete the positions of runs" in capsys.readouterr().err


def following(broker: Cluster, topic: str, server: Server, log: Path, *more: str) -> Process:
    return producers(log, *options(broker, topic, server, *more))


def served(port: int) -> dict[str, int]:
    """Returns the counts of the metrics page by outcome; empty while the page does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as page:
            lines = page.read().decode().splitlines()
    except OSError:
        return {}
    series = [line for line in lines if line.startswith(f"{LINES}_total{{")]
    return {json.loads(line.split("outcome=")[1].split("}")[0]): int(float(line.split()[-1])) for line in series}
