"""Two services on an object store that holds, refuses, loses and delays commits: every event counts once."""

import random
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.object_store.proxy import proxy
from tests.object_store.test_lives import DISORDER, RULES, WAREHOUSE, version
from tests.support.against_truth import assert_matches_truth
from tests.support.kafka_cluster import Cluster
from tests.support.object_store import object_store
from tests.support.processes import Process, producers, tidemark
from tests.support.seeds import SEED, in_turn
from tests.support.waiting import wait_for
from tidemark.producers.truth import Truth

PATIENCE_S = 600

pytestmark = pytest.mark.broker


@pytest.mark.long
@pytest.mark.parametrize("pairs", [pytest.param(1, marks=in_turn(1, 4)), pytest.param(4, marks=pytest.mark.nightly)])
def test_two_services_that_start_seconds_apart_on_an_unruly_store_count_every_event_once(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: int
) -> None:
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", make_topic(partitions=2))
    chance, truth = random.Random(SEED), tmp_path / "truth.json"

    def life(name: str, *more: str) -> Process:
        return tidemark(tmp_path / f"{name}.log", "run", *where, "--warehouse", WAREHOUSE, *RULES, *more)

    with object_store(tmp_path / "store") as store, proxy(store.endpoint, f"unruly-{SEED}") as address:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        store.make_bucket("tidemark")
        sent = ("--truth", str(truth), "--truth-window", "5s")
        with producers(tmp_path / "producers.log", "simulate", *where, *DISORDER, *sent) as site:
            monkeypatch.setenv("AWS_ENDPOINT_URL", address)
            for number in range(pairs):
                with life(f"first-{number}") as first:
                    first.lives_for(chance.uniform(0, 3))
                    with life(f"second-{number}") as second:
                        monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
                        goal = version() + 5
                        wait_for(partial(is_at_least, goal), PATIENCE_S, f"version {goal} of the ledger")
                        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
                        assert first.alive or second.alive, (first.said, second.said)
                        for one in (first, second):
                            one.send(signal.SIGTERM)
                        # One is replaced (1); a store that refuses a first start has a person look (2).
                        assert {first.wait(PATIENCE_S), second.wait(PATIENCE_S)} <= {0, 1, 2}, (first.said, second.said)
            site.send(signal.SIGTERM)
            assert site.wait(PATIENCE_S) == 0, site.said
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
        with life("last", "--until-caught-up") as last:
            assert last.wait(PATIENCE_S) == 0, last.said
        assert assert_matches_truth(WAREHOUSE, Truth.load(truth)).counted > 0
        with tidemark(tmp_path / "verify.log", "verify", "--warehouse", WAREHOUSE) as verify:
            assert verify.wait(PATIENCE_S) == 0, verify.said


def is_at_least(goal: int) -> bool:
    return version() >= goal
