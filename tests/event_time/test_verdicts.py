"""The verdict on an event depends on the watermark before its batch, and on no other event of the batch."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.event_time.core import Core
from tests.event_time.strategies import Step, policies, rules_for, streams
from tests.support.judge import judge
from tidemark.pipeline.event_time.checks import Check, is_counted, moves_watermark, verdict_of
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.rules import LATEST_EVENT_MS

POLICY = rules_for(window_ms=50, allowed_lateness_ms=20)


def test_what_counts_and_what_moves_the_watermark_agrees_with_the_verdict() -> None:
    for check in Check:
        assert is_counted(check) == (verdict_of(check) is Verdict.COUNTED)
        assert moves_watermark(check) == (verdict_of(check) in (Verdict.COUNTED, Verdict.TOO_LATE))


@given(policies, streams, st.integers(0, 2**32))
def test_the_order_inside_a_batch_decides_nothing(policy: Policy, stream: list[Step], seed: int) -> None:
    one, other, chance = Core(policy), Core(policy), random.Random(seed)
    for step in stream:
        shuffled = Step(step.silence_ms, tuple(chance.sample(step.records, len(step.records))))
        assert one.take(step) == other.take(shuffled)
        assert one.frontier == other.frontier


@given(policies, streams)
def test_cutting_a_batch_in_two_only_makes_more_too_late_and_brings_partitions_to_the_same_time(
    policy: Policy, stream: list[Step]
) -> None:
    whole, cut = Core(policy), Core(policy)
    for step in stream:
        together, _ = whole.take(step)
        half = len(step.records) // 2
        first, _ = cut.take(Step(step.silence_ms, step.records[:half]))
        second, _ = cut.take(Step(0, step.records[half:]))
        for record, verdict in {**first, **second}.items():
            assert verdict in {together[record], Verdict.TOO_LATE}
    newest = [{n: state.max_event_time for n, state in core.frontier.partitions.items()} for core in (whole, cut)]
    assert newest[0] == newest[1]


@pytest.mark.parametrize(
    ("watermark", "verdict"),
    [(None, Verdict.COUNTED), (119, Verdict.COUNTED), (120, Verdict.TOO_LATE), (10**12, Verdict.TOO_LATE)],
)
def test_an_event_is_too_late_once_its_window_is_closed(watermark: int | None, verdict: Verdict) -> None:
    #  event 50 in [50, 100), which closes at 100 + 20, and 99 in it, too
    assert judge(50, 99, watermark, POLICY) is judge(99, 99, watermark, POLICY) is verdict


@pytest.mark.parametrize(("event_time", "verdict"), [(400, Verdict.COUNTED), (401, Verdict.FUTURE)])
def test_an_event_is_future_beyond_the_skew_from_its_kafka_timestamp(event_time: int, verdict: Verdict) -> None:
    assert judge(event_time, 100, None, POLICY) is verdict


@pytest.mark.parametrize("event_time", [0, -1, -(2**63), LATEST_EVENT_MS + 1, 2**63 - 1])
def test_what_is_no_time_is_malformed_and_neither_future_nor_late(event_time: int) -> None:
    assert judge(event_time, 100, 10**12, POLICY) is Verdict.MALFORMED


@pytest.mark.parametrize("event_time", [1, LATEST_EVENT_MS])
def test_the_first_and_the_last_time_are_times(event_time: int) -> None:
    assert judge(event_time, event_time, None, POLICY) is Verdict.COUNTED
