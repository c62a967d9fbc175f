"""Events that are sent again count once, whatever dies when: what is remembered moves with the commit."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from tests.crash.store_faults import Refusal, refusing
from tests.support.against_truth import assert_matches_truth, ledger_version, uncommitted_rows
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.processes import Process, tidemark
from tests.support.seeds import SEED, drawn
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of, take
from tests.support.topic_writer import Raw, event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import EPOCH, page_views, rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.settings.model import Settings
from tidemark.producers.cli import main as simulate
from tidemark.producers.truth import Truth

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
START = 1_700_000_000_000
EVENTS, USERS, ROUNDS = 600, 20, 2
PATIENCE_S = 600
# Events are sent again at most a second and the jitter later: no bound makes them late.
DISORDER = (
    *("--rate", "0", "--events", "20000", "--event-rate", "1000", "--users", "2000", "--jitter", "5s"),
    *("--duplicate-share", "0.1", "--malformed-share", "0.01", "--future-share", "0.01"),
)
RULES = (
    *("--deduplicate", "event_id", "--window.size", "10s", "--time.bound", "1m", "--time.idle-timeout", "1h"),
    *("--batch.interval", "0ms", "--batch.max-records", "60", "--metrics.port", "0"),
)


def settings_for(broker: Cluster, topic: str, warehouse: Path, deduplicate: str = "event_id") -> Settings:
    return settings_of(
        broker, topic, warehouse, deduplicate=deduplicate, time={"bound": "0s"}, window={"size": "10s"},
    )  # fmt: skip


def visits(*numbers: int) -> list[Raw]:
    return [event("ann", 1_000 + number, event_id=f"event-{number}") for number in numbers]


def verdicts(warehouse: Path) -> tuple[int, int]:
    """How many records were counted, and how many were duplicates."""
    ledger = rows(warehouse, "ledger")
    return sum(row["counted"] for row in ledger), sum(row["duplicate"] for row in ledger)


@pytest.mark.parametrize("table", drawn(["panes", "ledger"], 1))
def test_what_a_failed_batch_remembered_is_void(
    table: str, broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_for(broker, topic, tmp_path)
    with open_service(settings, now=Clock()) as service:
        take(service, broker, topic, [visits(1, 2)])
        with (
            refusing(tmp_path, [Refusal(table, f"batch < {EPOCH + 2}")]),
            pytest.raises(DeltaError, match="failed validation check"),
        ):
            take(service, broker, topic, [visits(1, 3)])
        assert uncommitted_rows(tmp_path, "event_ids") == 1
    with open_service(settings, now=Clock()) as service:
        assert uncommitted_rows(tmp_path, "event_ids") == 0
        take(service, broker, topic, [visits(3, 2, 4), [event("bob", 20_000, event_id="last")]])
    assert verdicts(tmp_path) == (5, 3)
    assert page_views(tmp_path) == {("ann", 0, 10_000): (4, 0, 0)}
    assert_conserved(tmp_path)


def test_a_service_that_was_replaced_remembers_nothing_for_its_successor(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_for(broker, topic, tmp_path)
    with open_service(settings, now=Clock()) as old:
        take(old, broker, topic, [visits(1)])
        with open_service(settings, now=Clock()) as new:
            with pytest.raises(Replaced):
                take(old, broker, topic, [visits(1, 2)])
            take(new, broker, topic, [visits(2, 3)])
    assert verdicts(tmp_path) == (3, 2)
    assert_conserved(tmp_path)


def test_without_the_setting_nothing_is_remembered(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    with open_service(settings_for(broker, topic, tmp_path, "off"), now=Clock()) as service:
        take(service, broker, topic, [visits(1, 1), visits(1)])
    assert verdicts(tmp_path) == (3, 0)
    assert not (tmp_path / "event_ids").exists()


def test_the_plan_of_a_batch_is_compiled_once(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    with open_service(settings_for(broker, topic, tmp_path), now=Clock()) as service:
        take(service, broker, topic, [visits(1), visits(2), visits(2, 3), visits(3, 4)])
        spark = SparkSession.getActiveSession()
        assert spark is not None
        compilation = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()  # type: ignore[union-attr]
        before = compilation.getCount()
        take(service, broker, topic, [visits(5), visits(5, 6, 6), visits(1, 2, 3, 7)])
        assert compilation.getCount() == before
    assert verdicts(tmp_path) == (7, 7)


def test_a_site_whose_producer_sends_again_is_counted_as_it_was(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, truth, warehouse = make_topic(3), tmp_path / "truth.json", tmp_path / "warehouse"
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, "--truth", str(truth))
    assert simulate(["simulate", *where, *DISORDER]) == 0
    settings = settings_of(broker, topic, warehouse, deduplicate="event_id", batch={"max_records": 3_000})
    with open_service(settings) as service:
        service.drain()
    sent = Truth.load(truth)
    assert_matches_truth(warehouse, sent)
    assert verdicts(warehouse)[1] == sent.sent["duplicate"] > 1_000


@pytest.mark.nightly  # `test_kill` has duplicates, too, but of a few events only
def test_whenever_the_service_is_killed_an_event_counts_once(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Each round everything is sent again, on the other partition, as by a producer that knows of no answer."""
    chance, topic, warehouse = random.Random(SEED), make_topic(2, **ANY_TIMESTAMP), tmp_path / "warehouse"
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, "--warehouse", str(warehouse))
    for turn in range(1, ROUNDS):
        send(broker.bootstrap_servers, topic, everything(turn))
        goal = ledger_version(warehouse) + 3
        with tidemark(tmp_path / f"life-{turn}.log", "run", *where, *RULES) as life:
            wait_for(partial(has_come_to, goal, warehouse, life), PATIENCE_S, "batches")
            assert life.lives_for(chance.uniform(0, 1)), life.said
            life.kill()
    send(broker.bootstrap_servers, topic, everything(ROUNDS))
    send(broker.bootstrap_servers, topic, [event("last", START + 90_000, partition=n, event_id=f"{n}") for n in (0, 1)])
    with tidemark(tmp_path / "last.log", "run", *where, *RULES, "--until-caught-up") as last:
        assert last.wait(PATIENCE_S) == 0, last.said
    assert verdicts(warehouse) == (EVENTS + 2, EVENTS * (ROUNDS - 1))
    views = {user: views for (user, _, _), (views, _, _) in page_views(warehouse).items()}
    assert views == Counter(f"user-{number % USERS}" for number in range(EVENTS))
    assert uncommitted_rows(warehouse, "event_ids") == 0
    assert_conserved(warehouse)


def has_come_to(version: int, warehouse: Path, life: Process) -> bool:
    """Whether the ledger has this number of commits, or no service is left to make them."""
    return ledger_version(warehouse) >= version or not life.alive


def everything(turn: int) -> Sequence[Raw]:
    """All events, within one window."""
    return [
        event(f"user-{n % USERS}", START + n, partition=(n + turn) % 2, event_id=f"event-{n}") for n in range(EVENTS)
    ]
