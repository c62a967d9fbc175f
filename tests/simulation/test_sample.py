"""Random plans of random scenes, and plans that once failed, others in each run; `make nightly` plays all."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.simulation.page import kept_searches
from tests.simulation.play import Plan
from tests.simulation.scenes import SCENES
from tests.simulation.search import KINDS
from tests.simulation.writers import Fault
from tests.support.seeds import SEED

pytestmark = pytest.mark.slow


HERE = Path(__file__).parent
COUNT = 8
"""Plans in a sample, each of other writers."""
ONCE_FAILED, LIVED, NEW = 6, 3, 6
"""Plans that once failed and lives that are drawn of those in the lists, and lives of new seeds."""
FINDERS = "start-reset.ended:none:open.page_views.8", "other_start-reset-start.without_visits:ends:write.panes.1"
"""Plans that are the first to find a mutant: each run plays them."""


def random_plans(seed: int) -> list[str]:
    """Returns the ids of the plans that a seed selects: of scenes, kinds of plans and points of the last search."""
    chance, searched = Random(seed), kept_searches()
    writers = sorted({name.partition(".")[0] for name in SCENES})
    return [
        str(_random_plan(chance, chance.choice([name for name in SCENES if name.partition(".")[0] == pair]), searched))
        for pair in chance.sample(writers, COUNT)
    ]


def _random_plan(chance: Random, scene: str, searched: dict[str, dict[str, dict[str, int]]]) -> Plan:
    points = {kind: search["points"] for kind, search in searched.get(scene, {}).items() if search["points"]}
    # A random plan has several switches; it needs no point.
    kind = chance.choice([*sorted(points), "seed"])
    if kind == "seed":
        return Plan(scene, kind, chance.randrange(10**9))
    return Plan(scene, kind, chance.randrange(points[kind]), chance.randrange(4) if kind in (Fault.LATE, "two") else 0)


def once_failed() -> list[str]:
    """Returns the ids in the list; text after a space is for the reader."""
    lines = (HERE / "regressions.txt").read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


LIVES = [f"life:{seed}" for seed in (502, 1005, 3063, 4023, 5000, 6057)]
"""Lives that differed from the model once; `make nightly` plays others, too."""
SAMPLES = {
    "sample": random_plans(SEED),
    "regressions": [*FINDERS, *Random(SEED).sample(once_failed(), ONCE_FAILED)],
}
LIFE_NAMES = [*Random(SEED).sample(LIVES, LIVED), *(f"life:{SEED * 1000 + number}" for number in range(NEW))]
DRAWN = pytest.param(LIFE_NAMES, id="lives", marks=pytest.mark.drawn)
"""Each run plays them: a test that is drawn takes no turn with the long tests of its file."""
ALL = pytest.param([*once_failed(), *LIVES], id="all", marks=pytest.mark.nightly)


@pytest.mark.slow
@pytest.mark.parametrize("plans", [*(pytest.param(plans, id=name) for name, plans in SAMPLES.items()), DRAWN, ALL])
def test_tables_are_right_whatever_writers_do_to_each_other(plans: list[str]) -> None:
    # In a process of its own, because it wraps the calls of delta-rs.
    command = [sys.executable, "-m", "tests.simulation", "--story", "0", *plans]
    played = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    assert played.stdout.count(": right") == len(plans), played.stdout


ALONE = """
import sys
from tests.simulation import judge, verbs
from tests.simulation.play import base_of, room
with room():
    for name in sys.argv[1:]:
        base = base_of(name)
        verbs.correct(base.warehouse, base.scene.rules)
        print(name, len(judge.rows_of(base.warehouse, "corrections")))
"""


def test_a_correction_that_runs_alone_adds_an_event_in_each_base() -> None:
    bases = {
        (scene.topic, scene.rules, scene.batches, scene.waiting, scene.ends): name
        for name, scene in SCENES.items()
        if "correct" in scene.has
    }
    command = [sys.executable, "-c", ALONE, *bases.values()]
    run = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, check=True)
    assert len(run.stdout.splitlines()) == len(bases)
    assert [line for line in run.stdout.splitlines() if line.endswith(" 0")] == []


def test_samples_differ_by_their_seed_and_together_have_every_pair_of_writers_and_every_kind_of_plan() -> None:
    assert random_plans(1) == random_plans(1) != random_plans(2)
    plans = [Plan.parse(plan) for seed in range(700) for plan in random_plans(seed)]
    kinds = Counter(plan.fault for plan in plans)
    assert kinds.keys() == {*KINDS, "seed"}
    assert {plan.scene for plan in plans} == {*SCENES}
