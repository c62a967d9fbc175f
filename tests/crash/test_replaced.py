"""Two services on one warehouse: the second replaces the first, and nothing is counted twice."""

import os
import random
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from tests.crash.story import PARTITIONS, WINDOW_MS, send_step, story_settings
from tests.support.against_truth import assert_matches_truth, epochs, ledger_version, uncommitted_rows
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.processes import Process, producers, tidemark
from tests.support.seeds import SEED, in_turn
from tests.support.services import ANY_TIMESTAMP, Clock
from tests.support.waiting import wait_for
from tests.support.warehouse import EPOCH, rows, table
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.firing import WindowsDue
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.service.runner import RunningService
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.housekeeping import pane_starts
from tidemark.pipeline.tables.schemas import PANES
from tidemark.producers.truth import Truth

pytestmark = pytest.mark.broker

PATIENCE_S = 600
RULES = (
    *("--window.size", "2s", "--time.bound", "1s", "--time.allowed-lateness", "1s"),
    *("--batch.interval", "200ms", "--metrics.port", "0"),
)
DISORDER = ("--rate", "1000", "--users", "300", "--jitter", "500ms", "--malformed-share", "0.02")
LAST_WORDS = "tidemark: another service has opened epoch 2 on this warehouse; this service was epoch 1 and stops."


@dataclass(frozen=True)
class Site:
    """A stream of events without an end, and a warehouse for it."""

    folder: Path
    where: tuple[str, ...]
    producer: Process

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    def service(self, name: str, *more: str) -> Process:
        """A service that writes the warehouse."""
        options = (*self.where, "--warehouse", str(self.warehouse), *RULES, *more)
        return tidemark(self.folder / f"{name}.log", "run", *options)

    def await_commits(self, service: Process, count: int) -> None:
        """Returns when the ledger has grown by this number of commits."""
        goal = ledger_version(self.warehouse) + count
        wait_for(lambda: ledger_version(self.warehouse) >= goal or not service.alive, PATIENCE_S, f"commit {goal}")
        assert service.alive, service.said

    def truth(self) -> Truth:
        """Ends the stream and returns what was sent."""
        self.producer.send(signal.SIGTERM)
        assert self.producer.wait(PATIENCE_S) == 0, self.producer.said
        return Truth.load(self.folder / "truth.json")


@pytest.fixture
def site(broker: Cluster, make_topic: Callable[..., str], tmp_path: Path) -> Iterator[Site]:
    """A site at work."""
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", make_topic(partitions=PARTITIONS))
    truth = ("--truth", str(tmp_path / "truth.json"), "--truth-window", "2s")
    with producers(tmp_path / "producers.log", "simulate", *where, *DISORDER, *truth) as producer:
        yield Site(tmp_path, where, producer)


@pytest.mark.long
@in_turn(1, 4)
def test_a_service_that_was_frozen_wakes_up_replaced_and_a_signal_ends_its_successor_after_the_batch_in_hand(
    site: Site,
) -> None:
    chance = random.Random(SEED)
    with site.service("first") as first:
        site.await_commits(first, 4)
        assert first.lives_for(chance.uniform(0, 0.5)), first.said
        # As in a long pause of its machine.
        first.send_to_group(signal.SIGSTOP)
        with site.service("second") as second:
            site.await_commits(second, 3)
            first.send_to_group(signal.SIGCONT)
            assert first.wait(PATIENCE_S) == 1, first.said
            assert LAST_WORDS in first.said
            assert "Traceback" not in first.said
            site.await_commits(second, 3)
            assert second.lives_for(chance.uniform(0, 0.5)), second.said
            os.killpg(second.popen.pid, chance.choice((signal.SIGTERM, signal.SIGINT)))  # as a terminal does
            assert second.wait(PATIENCE_S) == 0, second.said
            assert not re.search(r"Traceback|Exception|\tat ", second.said), second.said
    assert void_epochs(site.warehouse) <= {1}, "the second did not end the batch in hand"
    truth = site.truth()
    with site.service("last", "--until-caught-up") as last:
        assert last.wait(PATIENCE_S) == 0, last.said
    assert epochs(site.warehouse) == {1, 2, 3}, "the old service came back and replaced the new one"
    assert_matches_truth(site.warehouse, truth)
    assert void_epochs(site.warehouse) == set()


def void_epochs(warehouse: Path) -> set[int]:
    """Returns the epochs that left rows of batches that are not in the ledger."""
    written = {row["batch"] for name in ("panes", "dead_letters") for row in rows(warehouse, name)}
    return {batch // EPOCH for batch in written - {row["batch"] for row in rows(warehouse, "ledger")}}


@pytest.mark.core
def test_what_a_replaced_service_would_still_commit_or_publish_is_refused(broker: Cluster, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    with service_a_step_behind(broker, warehouse) as (settings, old):
        publication = Publication(str(warehouse), map(kind_of, settings.policy().reports))
        panes = Appender(PANES, str(warehouse))
        with open_service(settings, Clock()) as new:
            before = DeltaTable(str(warehouse / "page_views")).version()
            with pytest.raises(Replaced, match="another service has opened epoch 2"):
                publication.publish({"page_views": every_window(warehouse)}, EPOCH + 2)
            after = DeltaTable(str(warehouse / "page_views")).version()
            assert after == before, "the fence let an old write through"
            with pytest.raises(Replaced, match="another service has opened epoch 2"):
                old.drain()
            assert (uncommitted_rows(warehouse, "panes"), uncommitted_rows(warehouse, "dead_letters")) == (0, 0)
            with pytest.raises(Replaced, match="another service has opened epoch 2"):
                panes.append(ghost(warehouse, EPOCH + 3), EPOCH + 3)
            new.drain()
    assert assert_conserved(warehouse).records == 9
    assert epochs(warehouse) == {1, 2}
    assert uncommitted_rows(warehouse, "panes") == 0
    assert {row["user_id"] for row in rows(warehouse, "page_views")} == {"ann", "bob", "cat"}


def test_a_batch_that_is_committed_while_another_service_starts_is_not_read_again(
    broker: Cluster, tmp_path: Path
) -> None:
    warehouse = tmp_path / "warehouse"
    with service_a_step_behind(broker, warehouse) as (settings, old):
        # A start asks for the time after it has read the ledger and before it opens its epoch.
        meanwhile = Meanwhile(old.drain)
        with open_service(settings, meanwhile) as new:
            new.drain()
    assert meanwhile.done
    assert epochs(warehouse) == {1, 2}
    assert assert_conserved(warehouse).records == 9


@contextmanager
def service_a_step_behind(broker: Cluster, warehouse: Path) -> Iterator[tuple[Settings, RunningService]]:
    """A service that has taken the first step, with the second waiting on its topic; and its settings."""
    topic = f"replaced-{warehouse.parent.name}"
    broker.create_topic(topic, PARTITIONS, **ANY_TIMESTAMP)
    settings = story_settings(broker, topic, warehouse)
    with open_service(settings, Clock()) as service:
        send_step(broker, topic, 1)
        service.drain()
        send_step(broker, topic, 2)
        yield settings, service


class Meanwhile(Clock):
    """A clock that lets something else happen when it is first asked for the time."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act = act
        self.done = False

    def __call__(self) -> int:
        if not self.done:
            self.done = True
            self._act()
        return super().__call__()


def every_window(warehouse: Path) -> WindowsDue:
    """As if every window fired for the first time, so that a publication would show it twice."""
    ends = {start + WINDOW_MS for start in pane_starts(str(warehouse))["page_views"]}
    return WindowsDue(fired=frozenset(ends), fired_by=dict.fromkeys(ends, EPOCH + 2))


def ghost(warehouse: Path, batch: int) -> pa.Table:
    """The old service would write this ahead: an event in a window yet to fire."""
    panes = table(warehouse, "panes")
    waiting = panes.filter(pc.equal(panes["user_id"], "bob"))
    for name, value in {"user_id": pa.array(["ghost"]), "batch": pa.array([batch])}.items():
        waiting = waiting.set_column(waiting.schema.get_field_index(name), name, value)
    return waiting
