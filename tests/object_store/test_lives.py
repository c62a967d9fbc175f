"""The service on an object store: killed, replaced, cut off from it, and in the end its tables tell the truth."""

import random
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from deltalake import DeltaTable

from producers.truth import Truth
from tests.support.against_truth import assert_tells_the_truth, epochs
from tests.support.kafka_cluster import Cluster
from tests.support.object_store import object_store
from tests.support.processes import Process, producers, tidemark
from tests.support.waiting import wait_for

WAREHOUSE = "s3://tidemark/warehouse"
KILLS = 3
PATIENCE_S = 240
DISORDER = (
    *("--rate", "500", "--users", "200", "--jitter", "500ms", "--late-share", "0.02", "--late-after", "10s"),
    *("--future-share", "0.005", "--malformed-share", "0.01"),
)
RULES = (
    *("--window.size", "5s", "--time.bound", "1s", "--time.allowed-lateness", "2s", "--time.idle-timeout", "1h"),
    *("--batch.interval", "200ms", "--metrics.port", "0"),
)


@pytest.mark.timeout(900)
def test_killed_replaced_and_cut_off_it_tells_the_truth_in_the_end(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", make_topic(partitions=2))
    chance, truth = random.Random(1), tmp_path / "truth.json"
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
            for _ in range(KILLS):
                with life() as killed:
                    await_commits(killed, chance.choice((1, 2, 3)))
                    assert killed.lives_for(chance.uniform(0, 1)), killed.said
            with life() as older:
                await_commits(older, 2)
                with life() as newer:
                    await_commits(newer, 2)
                    assert older.wait() == 1, older.said
                    assert "another service has opened epoch 5" in older.said
                    store.kill()
                    wait_for(lambda: "service_restarting" in newer.said, PATIENCE_S, "an outage")
                    store.start()
                    wait_for(is_readable, PATIENCE_S, "the data of the store")
                    await_commits(newer, 3)
                    newer.send(signal.SIGTERM)
                    assert newer.wait(PATIENCE_S) == 0, newer.said
            site.send(signal.SIGTERM)
            assert site.wait() == 0, site.said
        with life("--until-caught-up") as last:
            assert last.wait(PATIENCE_S) == 0, last.said
        balance = assert_tells_the_truth(WAREHOUSE, Truth.load(truth))
        assert min(balance.counted, balance.too_late, balance.future, balance.malformed) > 0
        assert epochs(WAREHOUSE) >= {*range(1, KILLS + 4)}
        for verb in ("verify", "status", "correct"):
            settings = (*where, *RULES) if verb == "correct" else ()
            with tidemark(tmp_path / f"{verb}.log", verb, "--warehouse", WAREHOUSE, *settings) as command:
                assert command.wait(PATIENCE_S) == 0, command.said
        assert DeltaTable(f"{WAREHOUSE}/corrections").to_pyarrow_table().num_rows > 0


def await_commits(life: Process, number: int) -> None:
    """Returns when a life has committed so often; fails if it ends."""
    goal = version() + number
    wait_for(lambda: version() >= goal or not life.alive, PATIENCE_S, f"version {goal} of the ledger")
    assert life.alive, life.said


def version() -> int:
    """How often the ledger was committed."""
    ledger = f"{WAREHOUSE}/ledger"
    return DeltaTable(ledger).version() if DeltaTable.is_deltatable(ledger) else 0


def is_readable() -> bool:
    """Whether the store has its data, too: it answers before it has found them."""
    with suppress(OSError):
        return version() > 0
    return False
