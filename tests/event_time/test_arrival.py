"""Any cut of a topic into batches gives the same watermarks for late records, and so the same tables."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tests.event_time.arrival_rule import Lane, Record, Topic, steps_of, table_of, whole
from tests.support.seeds import SEED
from tidemark.pipeline.event_time.arrival import NO_TIME, STEP_MS, ArrivalRows, ArrivalState, Arrived
from tidemark.pipeline.event_time.policy import AllIdle, Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded, Punctuated, Strategy, TimeLag
from tidemark.pipeline.event_time.windows.grid import Grid

Cut = int
"""The step before which a batch has all records."""
Watermarks = dict[tuple[int, int], int | None]


@pytest.mark.parametrize(
    ("part", "cases"),
    [
        (0, 6),
        pytest.param(1, 60, marks=pytest.mark.slow),
        *(pytest.param(part, 200, marks=[pytest.mark.slow, pytest.mark.nightly]) for part in range(2, 27)),
    ],
)
def test_any_cut_of_a_disorderly_topic_gives_the_tables_and_dead_letters_of_the_rule(part: int, cases: int) -> None:
    doubtful = late = 0
    for case in range(cases):
        chance = Random(SEED + 1_000 * part + case)
        topic, policy = random_topic(chance), random_policy(chance)
        expected, last = whole(topic, policy)
        for _ in range(2):
            watermarks, certain, state = in_batches(topic, policy, random_cuts(chance, topic))
            judged = {place: expected[place] for place in watermarks}
            assert watermarks == judged, (part, case)
            assert table_of(topic, watermarks | dict.fromkeys(certain), policy) == table_of(topic, expected, policy)
            assert state.watermark == last
            doubtful += len(watermarks)
            late += sum(topic[p][i].time < (w or NO_TIME) for (p, i), w in watermarks.items())
    assert 0 < late < doubtful


def test_in_an_orderly_topic_only_late_records_are_judged_by_the_driver() -> None:
    chance, policy = Random(SEED), replace(random_policy(Random(1)), strategy=Bounded(3_000), caps_watermark=True)
    policy = replace(policy, idle_timeout_ms=30_000, all_idle=AllIdle.HOLD)
    topic = [
        [Record(at + chance.randrange(50), at - (chance.randrange(20_000, 90_000) if chance.random() < 0.02 else 30))
         for at in range(100_000, 200_000, 97)] for _ in range(3)
    ]  # fmt: skip
    watermarks, certain, _ = in_batches(topic, policy, [])
    share = len(watermarks) / (len(watermarks) + len(certain))
    assert 0.01 < share < 0.03


#   step             0        1        2       ...      9        10
#   partition 0      50                                          1_900
#   partition 1     100      300 .................................          rows: one, while the highest does not rise
#   W (bound 10)     -       40        40               40       290        partition 0 is idle from step 5 on
def test_by_hand_a_partition_that_falls_silent_leaves_the_minimum_after_the_idle_timeout() -> None:
    policy = policy_of(Bounded(10), idle_timeout_ms=5 * STEP_MS)
    rows = ArrivalRows.of([(0, 0, 0, 50), (1, 0, 0, 100), (1, 1, 9, 300), (0, 10, 10, 1_900)])
    state = ArrivalState({0: Arrived(), 1: Arrived()})
    steps = np.array([0, 1, 2, 4, 5, 10, 11, 12])
    assert [*state.watermarks(rows, steps, policy)] == [NO_TIME, 40, 40, 40, 290, 290, 290, 290]
    assert state.after(rows, 11, policy).partitions == {0: Arrived(1_900, 10), 1: Arrived(300, 9)}


def test_a_partition_without_events_holds_the_watermark_for_one_idle_timeout_after_the_first_event() -> None:
    policy = policy_of(Bounded(10), idle_timeout_ms=5 * STEP_MS)
    rows = ArrivalRows.of([(0, 3, 20, 50)])
    state = ArrivalState({0: Arrived(), 1: Arrived()})
    assert [*state.watermarks(rows, np.array([3, 4, 7, 8]), policy)] == [NO_TIME, NO_TIME, NO_TIME, 40]
    later = state.after(rows, 5, policy)
    assert (later.watermark, later.origin) == (None, 3)
    assert [*later.watermarks(ArrivalRows.of([(0, 9, 9, 70)]), np.array([7, 8, 10]), policy)] == [NO_TIME, 40, 60]


def test_without_records_the_clock_goes_on_as_arrival() -> None:
    state = ArrivalState({0: Arrived(1_000, 5), 1: Arrived(500, 4)}, step=6, watermark=490, origin=4)
    for policy, expected in (
        (policy_of(Bounded(10), idle_timeout_ms=5 * STEP_MS), [490, 990, 990]),
        (policy_of(TimeLag(10), idle_timeout_ms=5 * STEP_MS), [1_390, 1_790, 19_990]),
        (replace(policy_of(Bounded(10), 5 * STEP_MS), all_idle=AllIdle.ADVANCE), [490, 990, 19_990]),
    ):
        assert [state.after(ArrivalRows.of([]), step, policy).watermark for step in (7, 9, 100)] == expected


def in_batches(
    topic: Topic, policy: Policy, cuts: Sequence[Cut]
) -> tuple[Watermarks, list[tuple[int, int]], ArrivalState]:
    """Returns the watermark of each record that no task could judge, the others, and the state after the topic."""
    state = ArrivalState({number: Arrived() for number in range(len(topic))})
    arrived = [[step for step, _ in steps_of(records)] for records in topic]
    places, watermarks, certain = [0] * len(topic), Watermarks(), list[tuple[int, int]]()
    end = max((steps[-1] for steps in arrived if steps), default=-1) + 1
    for step in [*(step for step in cuts if step < end), end]:
        rows, doubtful = list[tuple[int, int, int, int]](), list[tuple[int, int, int]]()
        for number, records in enumerate(topic):
            lane, start = Lane(number, state, policy), places[number]
            places[number] = int(np.searchsorted(arrived[number], step))
            for index in range(start, places[number]):
                if lane.arrive(records[index]):
                    certain.append((number, index))
                elif records[index].moves:
                    doubtful.append((number, index, lane.step))
            rows += lane.end()
        found = state.watermarks(ArrivalRows.of(rows), np.array([at for *_, at in doubtful], np.int64), policy)
        for (number, index, _), watermark in zip(doubtful, found.tolist(), strict=True):
            watermarks[number, index] = None if watermark == NO_TIME else watermark
        state = state.after(ArrivalRows.of(rows), step, policy)
    return watermarks, certain, state


def random_topic(chance: Random) -> Topic:
    """Returns partitions that are silent at times, with Kafka timestamps that are out of order a little."""
    return [[*random_partition(chance)] for _ in range(chance.choice([1, 2, 3]))]


def random_partition(chance: Random) -> list[Record]:
    at, records, is_quiet = 30_000 + chance.randrange(3_000), list[Record](), chance.random() < 0.4
    for _ in range(chance.randrange(60)):
        at += chance.choice([0, 1, 50, 300, 1_500, *([chance.choice([800, 1_000, 12_000])] if is_quiet else [])])
        stamp = at - chance.choice([0, 0, 0, 30, 700])
        time = stamp - chance.choice([0, 0, 10, 3_000, 12_000]) + chance.choice([0, 0, 400])
        is_event = chance.random() < 0.95
        records.append(Record(stamp, time, is_event, is_event and chance.random() < 0.9))
    return records


def random_policy(chance: Random) -> Policy:
    strategy: Strategy = chance.choice(
        [Bounded(chance.choice([0, 500, 3_000]))] * 4 + [Punctuated("marker", 700), TimeLag(2_000)]
    )
    policy = policy_of(strategy, chance.choice([STEP_MS + 1, 1_000, 5_000, 30_000]))
    return replace(
        policy,
        all_idle=chance.choice([AllIdle.HOLD, AllIdle.ADVANCE]),
        caps_watermark=chance.random() < 0.5,
        reports=(
            Report("some", Grid(4_000, 2_000, 300), chance.choice([0, 4_000])),
            Report("others", Grid(10_000, 10_000), 0),
        ),
    )


def random_cuts(chance: Random, topic: Topic) -> list[Cut]:
    known = sorted({step + chance.choice([0, 0, 1]) for records in topic for step, _ in steps_of(records)})
    return sorted(chance.sample(known, min(len(known), chance.choice([0, 1, 3, 20, 100]))))


def policy_of(strategy: Strategy, idle_timeout_ms: int) -> Policy:
    reports = (Report("all", Grid(10_000, 10_000), 0),)
    return Policy(strategy, idle_timeout_ms, max_future_skew_ms=400, reports=reports)
