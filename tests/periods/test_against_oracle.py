"""The core's answers equal those of the oracle, for random sites and questions. Each failure names its seed."""

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from tests.periods.compare_answers import assert_equal_answers
from tests.periods.plain_store import PlainStore
from tests.periods.raw_case import raw_case
from tests.support.seeds import SEED, drawn
from tidemark.pipeline.reading.periods.period import period_of
from tidemark.pipeline.reading.periods.period_traffic import PeriodQuestion, traffic_of

SAMPLE = 4
CHUNKS, IN_A_CHUNK = 20, 50
KNOWN = 1
"""A case with users and with sketches in its period."""
WINDOWS_BEFORE_THE_FIRST_EVENT = 61119188
"""A case with too many windows to count the visitors of bars, if those before the first event were counted."""
FIRST = SEED * CHUNKS * IN_A_CHUNK


@pytest.mark.parametrize("seed", [*range(FIRST, FIRST + SAMPLE), WINDOWS_BEFORE_THE_FIRST_EVENT])
def test_a_few_answers_equal_a_recount_from_raw_events(seed: int) -> None:
    assert_equal_answers(seed)


def test_many_users_are_estimated_by_sketches_and_marked() -> None:
    case = replace(raw_case(KNOWN), page="")
    store = PlainStore(case)
    question = PeriodQuestion(period_of(case.period, ZoneInfo(case.zone), case.now))
    exact, estimated = (traffic_of(question, store.sources, store, case.now, rows) for rows in (1_000_000, 0))
    assert exact.figures["visitors"].is_exact
    assert exact.figures["visitors"].value
    assert not estimated.figures["visitors"].is_exact
    assert {bar.visitors for bar in estimated.series} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("chunk", drawn(range(CHUNKS), 1))
def test_answers_equal_a_recount_from_raw_events(chunk: int) -> None:
    for seed in range(FIRST + chunk * IN_A_CHUNK, FIRST + (chunk + 1) * IN_A_CHUNK):
        assert_equal_answers(seed)
