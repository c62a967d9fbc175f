"""The service on an object store: killed, replaced, cut off from it, and its tables are right in the end."""

import json
import os
import random
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from deltalake import DeltaTable

from demo.standalone import CLOSED, HOST
from tests.cluster.standalone import cluster_without_python, executors_of
from tests.support.against_truth import assert_matches_truth, epochs
from tests.support.brief_java import BRIEF_DRIVER, BRIEF_JVM
from tests.support.kafka_cluster import Cluster
from tests.support.object_store import ObjectStore, object_store
from tests.support.processes import Process, producers, tidemark
from tests.support.seeds import SEED, in_turn
from tests.support.waiting import wait_for
from tests.support.warehouse import records
from tidemark.pipeline.tables.large import FOLDER
from tidemark.producers.truth import Truth

pytestmark = pytest.mark.broker

WAREHOUSE = "s3://tidemark/warehouse"
BATCHES = 2
"""In each of them all executors are killed, which takes a minute: new ones must start."""
PATIENCE_S = 600
DISORDER = (
    *("--rate", "200", "--users", "200", "--jitter", "500ms", "--late-share", "0.02", "--late-after", "10s"),
    *("--future-share", "0.005", "--malformed-share", "0.01"),
)
RULES = (
    *("--window.size", "5s", "--time.bound", "1s", "--time.allowed-lateness", "2s", "--time.idle-timeout", "1h"),
    *("--batch.interval", "500ms", "--metrics.port", "0"),
)

LARGE = ("--spark.large", "executors", "--spark.large-from", "1")
ON_A_CLUSTER = {
    **CLOSED,
    "spark.driver.host": HOST,
    "spark.executor.memory": "600m",
    **BRIEF_DRIVER,
    "spark.executor.defaultJavaOptions": BRIEF_JVM,
    "spark.hadoop.fs.s3a.path.style.access": "true",
}


@pytest.mark.long
@pytest.mark.parametrize(
    "kills", [pytest.param(0, marks=in_turn(0, 4)), pytest.param(2, marks=pytest.mark.nightly)], ids=["once", "often"]
)
def test_a_service_that_is_replaced_cut_off_and_killed_is_right_in_the_end(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    """`kills` more lives are killed before."""
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", make_topic(partitions=2))
    chance, truth = random.Random(SEED), tmp_path / "truth.json"
    lives = 0

    def life(*more: str) -> Process:
        nonlocal lives
        lives += 1
        return tidemark(tmp_path / f"life-{lives}.log", "run", *where, "--warehouse", WAREHOUSE, *RULES, *more)

    with object_store(tmp_path / "store") as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        store.make_bucket("tidemark")
        sent = ("--truth", str(truth), "--truth-window", "5s")
        with producers(tmp_path / "producers.log", "simulate", *where, *DISORDER, *sent) as site:
            for _ in range(kills):
                be_killed(life(), chance)
            with life() as older:
                await_commits(older, 2)
                with life() as newer:
                    await_commits(newer, 2)
                    assert older.wait(PATIENCE_S) == 1, older.said
                    assert f"another service has opened epoch {kills + 2}" in older.said
                    survive_an_outage(newer, store)
                    be_killed(newer, chance)
            site.send(signal.SIGTERM)
            assert site.wait(PATIENCE_S) == 0, site.said
        with life("--until-caught-up") as last:
            assert last.wait(PATIENCE_S) == 0, last.said
        balance = assert_matches_truth(WAREHOUSE, Truth.load(truth))
        assert min(balance.counted, balance.too_late, balance.future, balance.malformed) > 0
        assert epochs(WAREHOUSE) >= {*range(1, kills + 4)}
        run_verbs(tmp_path, where)
        assert DeltaTable(f"{WAREHOUSE}/corrections").to_pyarrow_table().num_rows > 0


@pytest.mark.nightly  # `test_standalone` kills one executor, once
def test_executors_that_write_into_the_store_are_killed_in_every_batch_and_the_tables_are_right(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", make_topic(partitions=2))
    chance, truth = random.Random(SEED), tmp_path / "truth.json"
    with cluster_without_python(tmp_path / "spark") as spark, object_store(tmp_path / "store") as store:
        # The workers have started without credentials.
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        store.make_bucket("tidemark")
        driver = {"TIDEMARK_SPARK__CONF": json.dumps(ON_A_CLUSTER), "TIDEMARK_SPARK__MASTER": spark.url}
        arguments = ("run", *where, "--warehouse", WAREHOUSE, *RULES, *LARGE)
        sent = ("--truth", str(truth), "--truth-window", "5s")
        with (
            producers(tmp_path / "producers.log", "simulate", *where, *DISORDER, *sent) as site,
            tidemark(tmp_path / "service.log", *arguments, driver=driver) as service,
        ):
            await_commits(service, 3)
            for _ in range(BATCHES):
                service.lives_for(chance.uniform(0, 1))
                for executor in wait_for(lambda: executors_of(spark), PATIENCE_S, "an executor"):
                    with suppress(ProcessLookupError):
                        os.kill(executor, signal.SIGKILL)
                await_commits(service, 1)
            site.send(signal.SIGTERM)
            assert site.wait(PATIENCE_S) == 0, site.said
            total = sum(Truth.load(truth).sent.values())
            wait_for(lambda: records(WAREHOUSE) == total or not service.alive, PATIENCE_S, "the reading of all events")
            service.send(signal.SIGTERM)
            assert service.wait(PATIENCE_S) == 0, service.said
        assert_matches_truth(WAREHOUSE, Truth.load(truth))
        assert {"job=write_ahead", "job=publication"} <= {*service.said.split()}
        assert any(f"/{FOLDER}/" in path for path in DeltaTable(f"{WAREHOUSE}/page_views").file_uris())


def be_killed(life: Process, chance: random.Random) -> None:
    """Kills a life at a random moment after one of its next commits."""
    with life:
        await_commits(life, chance.choice((1, 2, 3)))
        assert life.lives_for(chance.uniform(0, 1)), life.said


def survive_an_outage(life: Process, store: ObjectStore) -> None:
    """Kills the store under a life, starts it again and waits until the life has committed."""
    store.kill()
    wait_for(lambda: "service_restarting" in life.said, PATIENCE_S, "an outage")
    store.start()
    wait_for(is_readable, PATIENCE_S, "the data of the store")
    await_commits(life, 1)


def run_verbs(logs: Path, where: Sequence[str]) -> None:
    """Runs verbs on the warehouse, which all have to succeed."""
    for verb in ("verify", "status", "correct"):
        settings = (*where, *RULES) if verb == "correct" else ()
        with tidemark(logs / f"{verb}.log", verb, "--warehouse", WAREHOUSE, *settings) as command:
            assert command.wait(PATIENCE_S) == 0, command.said


def await_commits(life: Process, number: int) -> None:
    """Returns when a life has made `number` commits; fails if it ends."""
    goal = version() + number
    wait_for(lambda: version() >= goal or not life.alive, PATIENCE_S, f"version {goal} of the ledger")
    assert life.alive, life.said


def version() -> int:
    """Returns the number of commits of the ledger."""
    ledger = f"{WAREHOUSE}/ledger"
    return DeltaTable(ledger).version() if DeltaTable.is_deltatable(ledger) else 0


def is_readable() -> bool:
    """Returns whether the store serves its data; it answers before it has found them."""
    with suppress(OSError):
        return version() > 0
    return False
