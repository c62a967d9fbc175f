"""The service agrees with the model on random transcripts.

CI plays one of them or, in every second run, random lives instead (`test_random_lives`).
"""

import pytest

from tests.support.seeds import SEED, drawn
from tests.transcripts.place import Place
from tests.transcripts.playing import play
from tests.transcripts.random_transcript import SEEDS, random_transcript
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize("seed", drawn(SEEDS, SEED % 2))
def test_the_service_agrees_with_the_model_on_random_transcripts(seed: int, place: Place) -> None:
    """Settings, reports, events, partitions, cuts, pauses and restarts by chance; upkeep after every second batch."""
    play(random_transcript(seed), place, Tuning(upkeep_batches=2, merged_runs=2), by_query=seed % 2 == 0)
