"""Cells of the fault matrix for the test suite: some that a seed draws, and a sample with every point and every fault.

Several are played one after the other on one stream: a life of the service costs more than all that is done to it.
"""

import os
import random
from pathlib import Path

from tests.chaos.faults import FAULTS, OFTEN, Need
from tests.chaos.play import Play, Strike, perform
from tests.chaos.points import POINTS
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED

MINUTE_S = float(os.environ.get("TIDEMARK_TEST_MINUTE", "5"))
"""How long what lasts a minute lasts."""
_CELLS = {
    "a_store_and_lives_that_fail": (
        ("in-publication", "io-error"),
        ("in-commit", "lie"),
        ("after-writes", "io-error-minute"),
        ("between-writes", "kill"),
        ("in-correct", "lie"),
        ("before-publication", "terminate"),
        ("in-cleaning", "disk-full"),
        ("in-commit", "second-service"),
        ("in-compaction", "io-error"),
        ("in-upkeep", "kill-java"),
    ),
    "a_broker_that_comes_and_goes": (
        ("after-fold", "freeze-broker"),
        ("after-writes", "restart-broker"),
        ("between-writes", "add-partition"),
    ),
    "executors": tuple(
        ("in-publication", fault) for fault in ("kill", "kill-executor", "lie", "kill-executors-minute", "io-error")
    ),
}
_OPTIONS = {"executors": ("--spark.large", "executors", "--spark.large-from", "1")}
_DRAWN = 2
_POINTS = {point.name: point for point in POINTS}
_FAULTS = {fault.name: fault for fault in (*FAULTS, OFTEN)}


def sample(*names: str) -> dict[str, Play]:
    """Plays by their names; without names all of them."""
    return {
        name: Play(_strikes(cells), MINUTE_S, seed=SEED, options=_OPTIONS.get(name, ()))
        for name, cells in _CELLS.items()
        if not names or name in names
    }


def drawn(seed: int) -> Play:
    """Returns a play of a fault of the broker and two others, each at another point."""
    chance = random.Random(seed)
    faults = chance.sample([fault for fault in FAULTS if fault.need is None], _DRAWN)
    faults.append(chance.choice([fault for fault in FAULTS if fault.need is Need.OWN_BROKER]))
    chance.shuffle(faults)
    strikes = map(Strike, chance.sample(POINTS, len(faults)), faults)
    return Play(tuple(strikes), MINUTE_S, seed)


def _strikes(cells: tuple[tuple[str, str], ...]) -> tuple[Strike, ...]:
    return tuple(Strike(_POINTS[point], _FAULTS[fault]) for point, fault in cells)


def assert_played_well(play: Play, broker: Cluster, folder: Path) -> None:
    """The service goes on after every fault of the play, and its tables are right."""
    outcome = perform(play, broker, folder)
    assert outcome.error is None, f"{outcome.error}\n{(folder / 'error.txt').read_text()}"
