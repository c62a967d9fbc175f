"""Random settings change between random lives, in the loop that production runs: the tables are the model's."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED, in_turn
from tests.support.services import ANY_TIMESTAMP
from tests.transcripts.looping import Loop, lives_of
from tests.transcripts.random_transcript import random_transcript
from tests.transcripts.transcript import Transcript

pytestmark = pytest.mark.broker

STEPS, LIVES = 12, (3, 4)
ONCE_FAILED = 135
OF_THE_NIGHT = (ONCE_FAILED, *range(SEED + 1, SEED + 9))
SEEDS = [
    pytest.param(SEED, marks=in_turn(0, 4)),
    *(pytest.param(seed, marks=pytest.mark.nightly) for seed in OF_THE_NIGHT),
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.long
def test_after_every_life_the_tables_are_those_of_the_model(
    seed: int, broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    chance, transcript = Random(seed), with_lives(seed)
    topic = make_topic(transcript.value("partitions"), **ANY_TIMESTAMP)
    loop = Loop(transcript, broker, topic, tmp_path, max_records=chance.choice([5, 10, 1000]))
    for number, steps in enumerate(lives_of(transcript)):
        if number:
            loop.restart(steps[0])
        loop.live(steps, in_haste=chance.random() < 0.5)
    assert_conserved(tmp_path)


def with_lives(seed: int) -> Transcript:
    """The first random transcript from a seed on that has enough of them, and not too many to wait for."""
    numbers = (seed * 1000 + more for more in range(1000))
    return next(
        transcript
        for transcript in (random_transcript(number, STEPS) for number in numbers)
        if len(lives_of(transcript)) in LIVES
    )
