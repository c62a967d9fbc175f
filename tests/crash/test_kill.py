"""SIGKILL at a random moment of a stream with duplicates: the tables end up as if nothing had happened."""

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.against_truth import assert_matches_truth, epochs, ledger_version, uncommitted_rows
from tests.support.kafka_cluster import Cluster
from tests.support.processes import Process, producers, tidemark
from tests.support.seeds import SEED
from tests.support.waiting import wait_for
from tests.support.warehouse import rows
from tidemark.producers.truth import Truth

pytestmark = pytest.mark.broker

PATIENCE_S = 600
LONGEST_SPAN_S = 1.0
# Some events are late, from the future or unreadable. Their times depend on their number, not on the clock: a producer
# that has to wait for a busy machine sends no duplicate too late.
DISORDER = (
    *("--rate", "500", "--event-rate", "1000", "--users", "400", "--jitter", "1s", "--duplicate-share", "0.05"),
    *("--late-share", "0.01", "--late-after", "5s", "--future-share", "0.005", "--malformed-share", "0.01"),
)
SILENCE = ("--silent-partition", "3", "--silent-after", "20s")
RULES = (
    *("--window.size", "5s", "--time.bound", "2s", "--time.allowed-lateness", "3s", "--time.idle-timeout", "20s"),
    *("--deduplicate", "event_id", "--batch.interval", "200ms", "--metrics.port", "0"),
)
# More records than one batch gather while no service runs.
SMALL_BATCHES = ("--batch.max-records", "3000")


@dataclass
class Stream:
    """A topic, what drains it, and the lives of the service so far."""

    folder: Path
    options: tuple[str, ...]
    lives: int = 0

    @property
    def warehouse(self) -> Path:
        """Where the tables are."""
        return self.folder / "warehouse"

    def start(self, *more: str) -> Process:
        """Brings up the service for its next life."""
        self.lives += 1
        return tidemark(self.folder / f"life-{self.lives}.log", "run", *self.options, *RULES, *more)

    def await_version(self, version: int, life: Process) -> None:
        """Returns when the ledger has come so far, or the life ended too soon."""
        wait_for(lambda: ledger_version(self.warehouse) >= version or not life.alive, PATIENCE_S, f"version {version}")


@pytest.mark.long
@pytest.mark.parametrize(
    ("kills", "silence"), [(1, ()), pytest.param(4, SILENCE, marks=pytest.mark.nightly)], ids=["once", "often"]
)
def test_whenever_the_service_is_killed_the_tables_are_right_in_the_end(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, kills: int, silence: tuple[str, ...]
) -> None:
    chance, topic, truth = random.Random(SEED), make_topic(partitions=4), tmp_path / "truth.json"
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic)
    stream = Stream(tmp_path, (*where, "--warehouse", str(tmp_path / "warehouse")))
    with simulated(tmp_path / "producers.log", *where, *silence, "--truth", str(truth), "--seed", str(SEED)):
        void = [kill_once(stream, chance) for _ in range(kills)]
    with stream.start("--until-caught-up") as last:
        assert last.wait(PATIENCE_S) == 0, last.said
    sent = Truth.load(truth)
    balance = assert_matches_truth(stream.warehouse, sent)
    print(f"void rows after each kill: {void}; then {balance}")  # noqa: T201 - how much the kills hit
    assert min(balance.counted, balance.too_late, balance.future, balance.malformed) > 0
    assert sum(row["duplicate"] for row in rows(stream.warehouse, "ledger")) == sent.sent["duplicate"] > 0
    assert epochs(stream.warehouse) == set(range(1, kills + 2))
    assert [uncommitted_rows(stream.warehouse, name) for name in ("panes", "dead_letters", "event_ids")] == [0, 0, 0]


def kill_once(stream: Stream, chance: random.Random) -> int:
    """Runs and kills one life; returns the number of uncommitted rows that it left.

    The kill comes a random span after one of the first commits, which include the opening of the epoch. So over
    the lives it falls into folds, write-aheads, commits and publications. The first life commits a batch in any case.
    """
    commits, span = chance.choice((1, 2, 3)) + (stream.lives == 0), chance.uniform(0, LONGEST_SPAN_S)
    before = ledger_version(stream.warehouse)
    with stream.start(*SMALL_BATCHES) as life:
        for number in range(1, commits + 1):
            stream.await_version(before + number, life)
        assert life.lives_for(span), life.said
        life.kill()
    return uncommitted_rows(stream.warehouse, "panes") + uncommitted_rows(stream.warehouse, "dead_letters")


@contextmanager
def simulated(log: Path, *where: str) -> Iterator[None]:
    """A site at work for as long as the context lasts; then it writes the truth."""
    start = datetime.now(UTC) - timedelta(hours=1)
    times = ("--start-time", f"{start:%Y-%m-%dT%H:%M:%SZ}", "--truth-window", "5s")
    with producers(log, "simulate", *where, *DISORDER, *times) as site:
        yield
        assert site.alive, site.said
        site.send(signal.SIGTERM)
        assert site.wait(PATIENCE_S) == 0, site.said
