"""The core's answers equal those of the oracle, for random sites and questions. Each failure names its seed."""

import pytest

from tests.periods.compare_answers import assert_equal_answers
from tests.support.seeds import SEED, drawn

SAMPLE = 4
CHUNKS, IN_A_CHUNK = 20, 50
FIRST = SEED * CHUNKS * IN_A_CHUNK


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SAMPLE))
def test_a_few_answers_equal_a_recount_from_raw_events(seed: int) -> None:
    assert_equal_answers(seed)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", drawn(range(CHUNKS), 1))
def test_answers_equal_a_recount_from_raw_events(chunk: int) -> None:
    for seed in range(FIRST + chunk * IN_A_CHUNK, FIRST + (chunk + 1) * IN_A_CHUNK):
        assert_equal_answers(seed)
