"""`tidemark check`: each line passes, warns or fails with the errors of `run`, and no trace remains."""

import logging
import re
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from pyspark.logger import PySparkLogger

from tests.support.check_results import worst
from tests.support.environment import remove_settings
from tests.support.kafka_cluster import Cluster as Kafka
from tests.support.repeating import repeating
from tests.support.services import ANY_TIMESTAMP, settings_of
from tests.support.topic_writer import event, send
from tests.support.waiting import wait_for
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.commands.preflight.broker_checks import Cluster
from tidemark.pipeline.commands.preflight.check_result import CheckResult, Level, results_of
from tidemark.pipeline.commands.preflight.preflight import check_results
from tidemark.pipeline.commands.preflight.warehouse_checks import check_start
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.kafka.topic import connect
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.slow

MakeTopic = Callable[..., str]
NOON_MS = 1_714_564_800_000
PATIENCE_S = 600
USUAL = {"bound": "10s", "allowed_lateness": "1m", "max_ahead_of_clock": "5m"}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    remove_settings(monkeypatch)


@pytest.fixture(scope="module")
def topic(broker: Kafka) -> str:
    """A topic with a record, of which nothing is wrong; shared by those who only look."""
    name = f"check-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name, 2)
    send(broker.bootstrap_servers, name, [event("ann", now_ms())])
    return name


def arguments(broker: Kafka, topic: str, warehouse: Path, *more: str) -> list[str]:
    where = [f"--bootstrap-servers={broker.bootstrap_servers}", f"--topic={topic}", f"--warehouse={warehouse}"]
    return ["check", *where, "--metrics.port=0", *more]


def asked(settings: Settings, now: Callable[[], int] = now_ms) -> Cluster:
    """The brokers, to be asked about the topic."""
    return Cluster(connect(settings.kafka), now)


def snapshot(folder: Path) -> dict[str, int]:
    """All that is in a folder, and when each was changed."""
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def topics_and_groups(broker: Kafka) -> tuple[set[str], set[str]]:
    """The topics and the groups of the brokers."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    groups = admin.list_consumer_groups().result(PATIENCE_S).valid
    return set(admin.list_topics(timeout=PATIENCE_S).topics), {group.group_id for group in groups or ()}


def test_a_check_that_passes_says_so_and_leaves_no_trace(
    broker: Kafka, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, topics = snapshot(tmp_path), topics_and_groups(broker)
    assert main(arguments(broker, topic, tmp_path / "new" / "warehouse")) == 0
    captured = capsys.readouterr()
    assert "\nfail" not in captured.out
    assert "0 failed" in captured.out.splitlines()[-1]
    for about in ("java", "jars", "warehouse", "space", "brokers", "topic", "retention", "clocks", "group", "schemas"):
        assert f"pass  {about:<10}  " in captured.out, about
    assert "pass  start       a new warehouse would be created; it would read 1 offset" in captured.out
    assert (snapshot(tmp_path), topics_and_groups(broker)) == (before, topics)


def test_a_warehouse_in_use_stays_as_it_is(broker: Kafka, make_topic: MakeTopic, tmp_path: Path) -> None:
    settings = settings_of(broker, make_topic(partitions=2), tmp_path / "warehouse")
    send(broker.bootstrap_servers, settings.kafka.topic, [event("ann", NOON_MS)])
    with open_service(settings) as service:
        service.drain()
        wait_for(
            lambda: settings.kafka.group_id in topics_and_groups(broker)[1], PATIENCE_S, "the positions at the broker"
        )
        before, topics = snapshot(tmp_path), topics_and_groups(broker)
        beside = worst(check_results(settings, now_ms))
        assert {path for path in snapshot(tmp_path) if "_probe" in path} == set()
        changed = {path for path, at in snapshot(tmp_path).items() if before.get(path) != at}
        assert changed <= {str(tmp_path / "warehouse")}  # the probe has come and gone
        assert topics_and_groups(broker) == topics
        service.drain()  # and it was not replaced
    assert (beside["start"].level, beside["reports"].level) == (Level.PASS, Level.PASS)
    assert "epoch 2 would resume from the ledger; it would read 0 offsets" in beside["start"].message


def test_a_missing_topic_is_reported_as_a_start_reports_it(
    broker: Kafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(broker, "no-such-topic", tmp_path / "warehouse")
    assert main(["run", "--until-caught-up", *words[1:]]) == 2
    sentence = capsys.readouterr().err.removeprefix("tidemark: ").strip()
    assert main(words) == 1
    assert f"fail  brokers     {sentence}\n" in capsys.readouterr().out
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        ('offsets:{"0": 99, "1": 0}', "kafka.start has offset 99 of partition 0, but topic {topic} holds [0, 1)"),
        ("group:nobody", "consumer group nobody has committed no offset of topic {topic}: correct kafka.start"),
    ],
)
def test_an_impossible_start_is_reported(broker: Kafka, topic: str, tmp_path: Path, begin: str, said: str) -> None:
    settings = settings_of(broker, topic, tmp_path, kafka={"start": begin})
    seen = [*results_of("start", lambda: check_start(settings, connect(settings.kafka), now_ms))]
    assert seen == [CheckResult(Level.FAIL, "start", said.format(topic=topic))]


def test_a_broker_that_is_down_is_one_failure_and_the_rest_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    words = arguments(Kafka(f"127.0.0.1:{port}"), "clicks", tmp_path / "warehouse", "--kafka.connect-timeout=300ms")
    assert main(words) == 1
    output = capsys.readouterr().out
    assert f"fail  brokers     no Kafka broker at 127.0.0.1:{port} answered within 0.3 s" in output
    assert "pass  warehouse" in output
    assert [*tmp_path.iterdir()] == []


def test_settings_that_are_not_right_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 2
    assert "kafka.bootstrap_servers, kafka.topic, warehouse must be set" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "subject", "level", "message"),
    [
        ({"retention_ms": 60_000}, "retention", Level.FAIL, "retains records for 1m, but events up to 70s late"),
        ({"retention_ms": 3_600_000}, "retention", Level.WARN, "retains records for 1h: a longer outage loses records"),
        ({"retention_ms": 259_200_000}, "retention", Level.PASS, "retains records for 3d"),
        ({"retention_bytes": 1_000_000}, "retention", Level.WARN, "retains 1,000,000 bytes a partition"),
        ({"cleanup_policy": "compact"}, "retention", Level.FAIL, "is compacted"),
        ({"message_timestamp_type": "LogAppendTime"}, "timestamps", Level.PASS, "by the brokers' clocks"),
        ({}, "timestamps", Level.PASS, "more than 5m ahead of this host is `future`"),
        ({}, "clocks", Level.PASS, "the topic has no record yet"),
    ],
)
def test_the_topic_is_held_against_bound_and_lateness(
    broker: Kafka,
    make_topic: MakeTopic,
    tmp_path: Path,
    config: dict[str, object],
    subject: str,
    level: Level,
    message: str,
) -> None:
    settings = settings_of(broker, make_topic(**config), tmp_path, time=USUAL)
    brokers, policy = asked(settings), settings.policy()
    seen = worst([*brokers.check_retention(policy), *brokers.check_timestamps(policy), *brokers.check_clocks(policy)])
    assert (seen[subject].level, message in seen[subject].message) == (level, True), seen[subject]


@pytest.mark.parametrize(
    ("time_settings", "said"),
    [
        ({"max_ahead_of_clock": "off"}, "a producer whose clock is ahead advances the watermark"),
        ({"of": "ingestion"}, "with time.of = ingestion the producers' clocks decide"),
    ],
)
def test_producers_clocks_are_warned_of_where_they_would_count(
    broker: Kafka, topic: str, tmp_path: Path, time_settings: dict[str, str], said: str
) -> None:
    settings = settings_of(broker, topic, tmp_path, time=time_settings)
    (seen,) = asked(settings).check_timestamps(settings.policy())
    assert (seen.level, said in seen.message) == (Level.WARN, True), seen


def coming_in(broker: Kafka, topic: str) -> AbstractContextManager[None]:
    """Records come all the time."""
    return repeating(lambda: send(broker.bootstrap_servers, topic, [event("ann", NOON_MS)]))


@pytest.mark.parametrize(
    ("here_ms", "level", "said"),
    [
        (0, Level.PASS, "a new record is "),
        (-60_000, Level.WARN, r"the brokers' clock is (59|60)\.\d s ahead of this host"),
        (60_000, Level.WARN, r"the brokers' clock is (59|60)\.\d s behind this host"),
    ],
)
def test_a_wrong_clock_is_reported(
    broker: Kafka, make_topic: MakeTopic, tmp_path: Path, here_ms: int, level: Level, said: str
) -> None:
    settings = settings_of(broker, make_topic(message_timestamp_type="LogAppendTime"), tmp_path)
    send(broker.bootstrap_servers, settings.kafka.topic, [event("ann", NOON_MS)])
    with coming_in(broker, settings.kafka.topic):
        (seen,) = asked(settings, lambda: now_ms() + here_ms).check_clocks(settings.policy())
    assert seen.level is level
    assert re.match(said, seen.message), seen


def test_a_kafka_timestamp_in_another_unit_is_no_clock_that_is_ahead(
    broker: Kafka, make_topic: MakeTopic, tmp_path: Path
) -> None:
    settings = settings_of(broker, make_topic(**ANY_TIMESTAMP), tmp_path, time={"max_age": "3650d"})
    micros = NOON_MS * 1000
    send(broker.bootstrap_servers, settings.kafka.topic, [event("ann", NOON_MS, timestamp_ms=micros)])
    (seen,) = asked(settings).check_clocks(settings.policy())
    assert seen.level is Level.WARN
    assert f"the newest Kafka timestamp is {micros}, which is no time in milliseconds" in seen.message


@pytest.mark.parametrize("before_now_ms", [(None, 1, 0), (1, None, 0)])
def test_brokers_are_asked_again_while_a_record_is_on_its_way(
    broker: Kafka,
    make_topic: MakeTopic,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before_now_ms: tuple[int | None, ...],
) -> None:
    settings = settings_of(broker, make_topic(message_timestamp_type="LogAppendTime"), tmp_path)
    send(broker.bootstrap_servers, settings.kafka.topic, [event("ann", NOON_MS)])
    now = now_ms()
    answers = iter([-1 if before is None else now - before for before in before_now_ms])
    monkeypatch.setattr(Cluster, "_newest", lambda _: next(answers))
    (seen,) = asked(settings).check_clocks(settings.policy())
    assert "a new record is" in seen.message, seen


def test_a_group_with_other_readers_is_reported(broker: Kafka, topic: str, tmp_path: Path) -> None:
    settings = settings_of(broker, topic, tmp_path)
    group = settings.kafka.group_id
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    consumer.subscribe([topic])
    with closing(consumer):
        wait_for(lambda: consumer.poll(0.1) or consumer.assignment(), PATIENCE_S, "a member of the group")
        (seen,) = asked(settings).check_group(settings.kafka)
    assert (seen.level, "has 1 member," in seen.message) == (Level.WARN, True), seen


@pytest.mark.parametrize(
    ("where", "reason"),
    [("event_typ = 'click'", "`event_typ` cannot be resolved"), ("1 = 1; drop table x", "Syntax error at or near ';'")],
)
def test_a_condition_that_spark_rejects_is_reported(
    where: str, reason: str, broker: Kafka, topic: str, tmp_path: Path
) -> None:
    clicks = {"clicks": {"keys": ("user_id",), "where": where}}
    printed = list[logging.LogRecord]()
    with printed_by_pyspark(printed):
        seen = worst(check_results(settings_of(broker, topic, tmp_path, reports=clicks), now_ms))["schemas"]
    assert seen.level is Level.FAIL
    assert "reports.clicks.where is no condition on an event" in seen.message
    assert reason in seen.message
    assert printed == []


@contextmanager
def printed_by_pyspark(records: list[logging.LogRecord]) -> Iterator[None]:
    """Collects what PySpark logs about an error of a statement, which has pages of Java's stack."""
    collector = logging.Handler()
    collector.emit = records.append  # type: ignore[assignment, method-assign]
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.addHandler(collector)
    yield
    logger.removeHandler(collector)
