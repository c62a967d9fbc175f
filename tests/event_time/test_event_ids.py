"""Repeated events: the sorted runs recognise the same events as a dictionary."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidemark.pipeline.event_time.event_ids import Ids, RememberedIds

Event = tuple[int, int, int]
"""The two halves of an id, and a time. So few that halves are shared, and that ids are."""
events = st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2), st.integers(0, 40)), max_size=25)
batches = st.lists(st.tuples(events, st.integers(0, 5), st.randoms(use_true_random=False)), max_size=12)
Batch = tuple[list[Event], int, Random]


def ids_of(drawn: Sequence[Event]) -> Ids:
    return Ids(*np.array(drawn, np.int64).reshape(-1, 3).T)


@given(batches)
def test_an_event_repeats_a_remembered_event_or_an_earlier_event_of_its_batch(batches: list[Batch]) -> None:
    remembered, known, since = RememberedIds(), dict[tuple[int, int], int](), 0
    for drawn, passes, chance in batches:
        since += passes
        # No event that is too late is asked for.
        in_time = [(high, low, time + since) for high, low, time in drawn]
        positions = chance.sample(range(1000), len(in_time))
        found = remembered.repeated(ids_of(in_time), np.array(positions, np.int64), since)
        expected = dict[int, bool]()
        for position, (*halves, time) in sorted(zip(positions, in_time, strict=True)):
            key = (halves[0], halves[1])
            expected[position] = known.get(key, since - 1) >= since
            known[key] = known[key] if expected[position] else time
        assert found.tolist() == [expected[position] for position in positions]
        remembered = remembered.after(ids_of(in_time)[~found], since)


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 100))
def test_runs_are_few_and_what_is_old_goes(sizes: list[int], lasts: int) -> None:
    remembered, number = RememberedIds(), 0
    for size in sizes:
        batch = np.arange(number, number + size)
        number += size
        remembered = remembered.after(Ids(batch * 7919 % 1009, batch, batch), number - lasts)
        assert all(len(left) >= 2 * len(right) for left, right in pairwise(remembered.runs))
        assert all((np.diff(run.high) >= 0).all() for run in remembered.runs)
        lows = np.concatenate([run.low for run in remembered.runs]) if remembered.runs else np.array([])
        assert {*range(max(0, number - lasts), number)} <= {*lows.tolist()}
        assert len(lows) == len({*lows.tolist()}) == len(remembered)


def test_a_run_goes_as_a_whole_when_all_of_it_is_old() -> None:
    times = np.arange(100)
    remembered = RememberedIds.of(Ids(times, times, times))
    assert len(remembered.after(ids_of([]), 99)) == 100
    assert len(remembered.after(ids_of([]), 100)) == 0
