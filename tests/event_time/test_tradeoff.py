"""Other bounds make of batches what was worked out by hand; times in seconds."""

import pytest

from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.reading.advice.tradeoff import BoundStep, EventHistory, EventsBySlack, outcome_of

#   bound 10, windows of 60; a batch a second brings the clock's time, so W = 90, 91, 92, ...
#   [60, 120) fires when W = 120, at clock 130; [120, 180) at 190; [180, 240) at 250
STEADY = [BoundStep(watermark=clock - 10, bound_ms=10, committed_at=clock) for clock in range(100, 301)]
AHEAD = [
    EventsBySlack(-25, 10, 1),
    EventsBySlack(-5, 10, 2),
    EventsBySlack(0, 10, 4),
    EventsBySlack(3, 10, 8),
    EventsBySlack(10, 10, 16),
]


def history(steps: list[BoundStep] = STEADY, bound: int = 10) -> EventHistory:
    return EventHistory(bound, events=100, by_slack=AHEAD, steps=steps, windows=[Grid(60, 60)])


@pytest.mark.parametrize(
    ("bound", "too_late"), [(0, 31), (1, 15), (7, 15), (8, 7), (10, 7), (11, 3), (15, 3), (16, 1), (35, 1), (36, 0)]
)
def test_events_are_too_late_whose_slack_is_no_more_than_the_bound_is_smaller(bound: int, too_late: int) -> None:
    assert outcome_of(history(), bound).too_late == too_late


@pytest.mark.parametrize(("bound", "later"), [(0, -10), (9, -1), (10, 0), (15, 5), (60, 50)])
def test_in_a_steady_stream_results_come_later_by_what_the_bound_is_larger(bound: int, later: int) -> None:
    assert outcome_of(history(), bound).later_ms == (later, later)


#   W      90     125      185      250        bound 10
#   clock   0      10       20       90        a larger bound has each window wait for the batch after
def test_results_wait_for_the_batch_whose_watermark_reaches_the_end() -> None:
    steps = [BoundStep(90, 10, 0), BoundStep(125, 10, 10), BoundStep(185, 10, 20), BoundStep(250, 10, 90)]
    assert outcome_of(history(steps), 15).later_ms == (0, 0), "W = 120, 180, 245 reach the same ends"
    assert outcome_of(history(steps), 16).later_ms == (10, 70), "of three windows one waits 10, one 70, one not at all"
    assert outcome_of(history(steps), 5).later_ms == (0, 0)


def test_a_window_that_has_not_had_its_result_yet_is_left_out() -> None:
    assert outcome_of(history(STEADY[:31]), 11).later_ms is None, "only [60, 120) fired, with the last batch"
    assert outcome_of(history(STEADY[:32]), 11).later_ms == (1, 1)


def test_the_bound_of_a_batch_is_its_own() -> None:
    # The watermark does not move for 20 s after the bound went from 10 to 30.
    steps = [*STEADY[:51], *[BoundStep(max(140, clock - 30), 30, clock) for clock in range(151, 301)]]
    now = history(steps, bound=30)
    assert outcome_of(now, 30).too_late == 1
    assert outcome_of(now, 10).later_ms == (-20, -20)
    assert outcome_of(now, 30).later_ms == (0, 0)


def test_a_session_may_end_at_any_time() -> None:
    found = outcome_of(EventHistory(10, 100, AHEAD, STEADY, [Sessions(30)]), 13)
    assert found.later_ms == (3, 3)
