"""The service stopped between any two of its steps: what follows is as if it had not been.

CI stops it at two places of six, others in each run; the night at all.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tests.crash.store_faults import Refusal, refusing, undeletable
from tests.crash.story import FAULTY_STEP, PARTITIONS, STEPS, Row, outcome, send_step, story_settings
from tests.support.against_truth import epochs, uncommitted_rows
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import drawn
from tests.support.services import ANY_TIMESTAMP, Clock
from tests.support.warehouse import EPOCH, batches
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.fold import driver_chunks
from tidemark.pipeline.service.guesses import Guesses
from tidemark.pipeline.service.runner import RunningService
from tidemark.pipeline.tuning import STANDARD, Tuning

pytestmark = pytest.mark.broker

BATCH = EPOCH + FAULTY_STEP
NO_PANES = Refusal("panes", f"batch < {BATCH}")
NO_DEAD_LETTERS = Refusal("dead_letters", f"batch < {BATCH}")
NO_COMMIT = Refusal("ledger", f"batch < {BATCH}")
NO_PUBLICATION = Refusal("page_views", f"published_batch < {BATCH}")
NO_ZOE = Refusal("page_views", "user_id <> 'zoe'")
NO_LAST_REPORT = Refusal("site_traffic", f"published_batch < {BATCH}")


@dataclass
class Life:
    """A topic and a warehouse, and the services opened on them."""

    broker: Cluster
    topic: str
    warehouse: Path
    tuning: Tuning = STANDARD

    @classmethod
    def new(cls, broker: Cluster, folder: Path, tuning: Tuning = STANDARD) -> "Life":
        topic = f"story-{uuid.uuid4().hex[:8]}"
        broker.create_topic(topic, PARTITIONS, **ANY_TIMESTAMP)
        return cls(broker, topic, folder / "warehouse", tuning)

    def play(self, steps: Iterable[int]) -> None:
        """One service takes these steps, a batch each."""
        settings = story_settings(self.broker, self.topic, self.warehouse)
        with open_service(settings, Clock(), tuning=self.tuning) as service:
            for step in steps:
                self.take(service, step)

    def take(self, service: RunningService, step: int) -> None:
        send_step(self.broker, self.topic, step)
        service.drain()

    def void(self) -> set[str]:
        """The tables that hold rows of a batch that was never committed."""
        return {name for name in ("panes", "dead_letters") if uncommitted_rows(self.warehouse, name)}


@pytest.fixture(scope="module")
def undisturbed(broker: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """Plays the story without a fault, and returns its tables."""
    life = Life.new(broker, tmp_path_factory.mktemp("undisturbed"))
    life.play(range(1, len(STEPS) + 1))
    assert_conserved(life.warehouse)
    return outcome(life.warehouse)


@pytest.mark.core
@pytest.mark.parametrize(
    ("refusals", "void", "committed"),
    drawn(
        [
            pytest.param([NO_DEAD_LETTERS, NO_PANES], set[str](), False, id="before_anything_is_written"),
            pytest.param([NO_DEAD_LETTERS], {"panes"}, False, id="without_its_dead_letters"),
            pytest.param([NO_PANES], {"dead_letters"}, False, id="without_its_panes"),
            pytest.param([NO_COMMIT], {"panes", "dead_letters"}, False, id="after_the_write_ahead_before_the_commit"),
            pytest.param([NO_PUBLICATION], set[str](), True, id="after_the_commit_before_the_publication"),
            pytest.param([NO_ZOE], set[str](), True, id="within_the_publication"),
        ],
        count=2,
    ),
)
def test_a_service_stopped_between_two_steps_goes_on_as_if_it_had_not_been(
    broker: Cluster,
    tmp_path: Path,
    undisturbed: dict[str, list[Row]],
    refusals: list[Refusal],
    void: set[str],
    committed: bool,
) -> None:
    life = Life.new(broker, tmp_path)
    interrupt(life, refusals)
    assert life.void() == void
    assert (BATCH in batches(life.warehouse)) == committed
    assert_goes_on_undisturbed(life, undisturbed)
    assert life.void() == set()


def test_a_start_stopped_before_it_removed_uncommitted_rows_does_not_count_them(
    broker: Cluster, tmp_path: Path, undisturbed: dict[str, list[Row]]
) -> None:
    life = Life.new(broker, tmp_path)
    interrupt(life, [NO_COMMIT])
    with undeletable(life.warehouse, "panes"), pytest.raises(DeltaError):
        life.play([])
    assert life.void() == {"panes", "dead_letters"}
    assert_goes_on_undisturbed(life, undisturbed)
    assert life.void() == set()


def test_a_start_stopped_before_it_published_leaves_that_to_the_next(
    broker: Cluster, tmp_path: Path, undisturbed: dict[str, list[Row]]
) -> None:
    life = Life.new(broker, tmp_path)
    interrupt(life, [NO_PUBLICATION])
    with refusing(life.warehouse, [NO_PUBLICATION]), pytest.raises(DeltaError, match="failed validation check"):
        life.play([])
    assert_goes_on_undisturbed(life, undisturbed)


def test_a_publication_that_fails_half_way_is_made_up_for_without_a_restart_and_shows_nothing_twice(
    broker: Cluster, tmp_path: Path, undisturbed: dict[str, list[Row]]
) -> None:
    life = Life.new(broker, tmp_path)
    with open_service(story_settings(life.broker, life.topic, life.warehouse), Clock()) as service:
        for step in range(1, FAULTY_STEP):
            life.take(service, step)
        with refusing(life.warehouse, [NO_LAST_REPORT]), pytest.raises(TransientError, match="batch not published"):
            life.take(service, FAULTY_STEP)
        for step in range(FAULTY_STEP + 1, len(STEPS) + 1):
            life.take(service, step)
    assert outcome(life.warehouse) == undisturbed
    assert_conserved(life.warehouse)
    assert epochs(life.warehouse) == {1}


@pytest.mark.parametrize(
    "is_guessed", drawn([True, False], 1), ids=["as was guessed", "as Spark refused to send them at once"]
)
def test_rows_that_are_too_many_for_the_driver_come_in_pieces(
    broker: Cluster,
    tmp_path: Path,
    undisturbed: dict[str, list[Row]],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_guessed: bool,
) -> None:
    if not is_guessed:
        monkeypatch.setattr(Guesses, "is_small", lambda *_: True)
        monkeypatch.setattr(driver_chunks, "collect", lambda _: None)
    life = Life.new(broker, tmp_path, Tuning(chunk_bytes=100))
    life.play(range(1, len(STEPS) + 1))
    assert outcome(life.warehouse) == undisturbed
    assert_conserved(life.warehouse)
    appends = [
        commit for commit in DeltaTable(str(life.warehouse / "panes")).history() if commit["operation"] == "WRITE"
    ]
    assert len(appends) > len(STEPS)


def interrupt(life: Life, refusals: list[Refusal]) -> None:
    """A service comes as far as the faulty step, in which the store refuses."""
    with open_service(story_settings(life.broker, life.topic, life.warehouse), Clock()) as service:
        for step in range(1, FAULTY_STEP):
            life.take(service, step)
        with (
            refusing(life.warehouse, refusals),
            pytest.raises((DeltaError, TransientError), match="failed validation check"),
        ):
            life.take(service, FAULTY_STEP)


def assert_goes_on_undisturbed(life: Life, undisturbed: dict[str, list[Row]]) -> None:
    """The next service reads the records of the faulty step and of later steps; the tables show no difference."""
    with open_service(story_settings(life.broker, life.topic, life.warehouse), Clock()) as service:
        service.drain()
        for step in range(FAULTY_STEP + 1, len(STEPS) + 1):
            life.take(service, step)
    assert outcome(life.warehouse) == undisturbed
    assert_conserved(life.warehouse)
