"""The watermark: the minimum over active partitions, which never goes back."""

from dataclasses import replace

import pytest
from hypothesis import given

from tests.event_time.core import Core
from tests.event_time.strategies import Step, policies, rules_for, streams
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.policy import AllIdle, Policy, Verdict
from tidemark.pipeline.event_time.strategies import Punctuated, TimeLag
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState

POLICY = rules_for(window_ms=50, allowed_lateness_ms=0)


def advanced(*partitions: PartitionState, ends: tuple[int, ...], now: int, before: int | None = None) -> Frontier:
    numbered = Frontier(dict(enumerate(partitions)), before)
    return numbered.advanced(dict(enumerate(ends)), now, POLICY)


def read(newest: int | None, at: int = 0, position: int = 5) -> PartitionState:
    return PartitionState(position=position, last_event_at=at, max_event_time=newest)


@given(policies, streams)
def test_the_watermark_is_the_lowest_active_partition_or_where_it_was_and_never_goes_back(
    policy: Policy, stream: list[Step]
) -> None:
    core = Core(policy)
    for step in stream:
        before = core.frontier.watermark
        core.take(step)
        assert rules.as_number(before) <= rules.as_number(core.frontier.watermark)
        states = core.frontier.partitions.values()
        last = [state for state in states if state.last_event_at == max(state.last_event_at for state in states)]
        newest = [state.max_event_time for state in [state for state in states if not state.idle] or last]
        known = [time for time in newest if time is not None]
        if newest and len(known) == len(newest):
            reached = min(known) - policy.strategy.delay_ms
            assert core.frontier.watermark == (reached if before is None else max(before, reached))
        else:
            assert core.frontier.watermark == before


@given(policies, streams)
def test_only_what_was_counted_or_too_late_moves_a_partition(policy: Policy, stream: list[Step]) -> None:
    core, trusted = Core(policy), dict[int, int]()
    for step in stream:
        verdicts, _ = core.take(step)
        for record, verdict in verdicts.items():
            if verdict in {Verdict.COUNTED, Verdict.TOO_LATE}:
                trusted[record.partition] = max(trusted.get(record.partition, 0), record.event_time)
        for number, state in core.frontier.partitions.items():
            assert state.max_event_time == trusted.get(number)


def test_the_slowest_of_several_partitions_decides() -> None:
    assert advanced(read(200), read(150), ends=(5, 5), now=0).watermark == 140


def test_there_is_no_watermark_while_a_partition_never_had_an_event() -> None:
    assert advanced(read(200), read(None), ends=(5, 5), now=99).watermark is None


@pytest.mark.parametrize(("silent_ms", "idle"), [(99, False), (100, True)])
def test_a_partition_is_idle_from_exactly_the_timeout_on(silent_ms: int, idle: bool) -> None:
    frontier = advanced(read(200, at=7), read(None, at=silent_ms), ends=(5, 5), now=silent_ms + 7)
    assert frontier.partitions[0].idle is idle


def test_an_idle_partition_leaves_the_minimum() -> None:
    frontier = advanced(read(200, at=100), read(150), ends=(5, 5), now=100)
    assert frontier.watermark == 190


def test_an_idle_partition_that_never_had_an_event_stops_holding_the_watermark() -> None:
    frontier = advanced(read(200, at=100), read(None), ends=(5, 5), now=100)
    assert frontier.watermark == 190


def test_a_partition_with_unread_records_is_never_idle() -> None:
    frontier = advanced(read(200, at=10**6), read(150), ends=(5, 6), now=10**6)
    assert not frontier.partitions[1].idle
    assert frontier.watermark == 140


def test_the_watermark_holds_if_all_partitions_are_idle() -> None:
    frontier = advanced(read(200), read(150), ends=(5, 5), now=100, before=140)
    assert all(state.idle for state in frontier.partitions.values())
    assert frontier.watermark == 140


@pytest.mark.parametrize("silent", [150, None])
def test_a_partition_that_was_silent_for_longer_becomes_idle_first(silent: int | None) -> None:
    #  p0 ───200─── idle ──▶   p1 ─── silent since earlier ──▶   a batch lasted longer than both timeouts
    frontier = advanced(read(200, at=50), read(silent), ends=(5, 5), now=1_000)
    assert all(state.idle for state in frontier.partitions.values())
    assert frontier.watermark == 190


def test_an_idle_partition_that_returns_with_an_old_event_does_not_move_the_watermark_back() -> None:
    #  p0 ───200────────────300──▶   p1 ───150── idle ── 160 ──▶   W 140, 190, still 190
    gone = advanced(read(200, at=100), read(150), ends=(5, 5), now=100, before=140)
    back = gone.partitions[1].read(to_offset=6, events=1, max_event_time=160, now=101)
    frontier = Frontier({0: gone.partitions[0], 1: back}, gone.watermark).advanced({0: 5, 1: 6}, 101, POLICY)
    assert not frontier.partitions[1].idle
    assert frontier.watermark == 190


def test_a_returned_partition_counts_in_the_minimum_again() -> None:
    gone = advanced(read(200, at=100), read(150), ends=(5, 5), now=100, before=140)
    back = gone.partitions[1].read(to_offset=6, events=1, max_event_time=220, now=101)
    ahead = gone.partitions[0].read(to_offset=6, events=1, max_event_time=500, now=101)
    frontier = Frontier({0: ahead, 1: back}, gone.watermark).advanced({0: 6, 1: 6}, 101, POLICY)
    assert frontier.watermark == 210


def test_a_batch_without_events_does_not_break_the_silence() -> None:
    state = read(200, at=3).read(to_offset=9, events=0, max_event_time=None, now=50)
    assert (state.position, state.last_event_at, state.max_event_time) == (9, 3, 200)


def test_a_partition_whose_only_events_are_rejected_is_not_silent() -> None:
    state = read(200).read(to_offset=6, events=1, max_event_time=None, now=90)
    assert not state.advanced(log_end=6, now=189, idle_timeout_ms=100).idle
    assert state.advanced(log_end=6, now=190, idle_timeout_ms=100).idle


def test_a_punctuated_watermark_has_no_bound() -> None:
    policy = replace(POLICY, strategy=Punctuated("true"))
    assert Frontier({0: read(70)}).advanced({0: 5}, now=0, policy=policy).watermark == 70


@pytest.mark.parametrize("state", [read(None), read(5000), PartitionState(0, -1000)])
def test_a_time_lag_watermark_asks_the_clock_only(state: PartitionState) -> None:
    policy = replace(POLICY, strategy=TimeLag(30))
    assert Frontier({0: state}).advanced({0: 0}, now=1000, policy=policy).watermark == 970


@pytest.mark.parametrize(
    ("before", "now", "after"),
    [
        pytest.param(60, 99, 60, id="while_one_is_active_its_event_time_decides"),
        pytest.param(60, 100, 90, id="once_all_are_idle_the_clock_minus_the_bound"),
        pytest.param(95, 100, 95, id="never_back"),
        pytest.param(None, 100, None, id="never_before_the_first_event"),
    ],
)
def test_an_advancing_watermark_follows_the_clock_while_all_are_idle(
    before: int | None, now: int, after: int | None
) -> None:
    policy = replace(POLICY, all_idle=AllIdle.ADVANCE)
    newest = None if before is None else 70
    frontier = Frontier({0: read(newest), 1: read(newest)}, before)
    assert frontier.advanced({0: 5, 1: 5}, now, policy).watermark == after


def test_an_advancing_watermark_does_not_advance_over_unread_records() -> None:
    policy = replace(POLICY, all_idle=AllIdle.ADVANCE)
    assert Frontier({0: read(70), 1: read(70)}, 60).advanced({0: 5, 1: 6}, 500, policy).watermark == 60
