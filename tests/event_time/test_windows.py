"""The life of a window: it fires, fires again, closes, and never changes after that."""

from collections import Counter
from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.event_time.core import Core, ends_of
from tests.event_time.strategies import Step, policies, streams
from tidemark.pipeline.event_time import rules, window_states
from tidemark.pipeline.event_time.firing import CountsDue, TotalsDue, WindowsDue
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import TotalsState
from tidemark.pipeline.event_time.windows.count import CountState
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.periodic import PeriodicState

REPORT = Report("all", Grid(50, 50), allowed_lateness_ms=20)


class Windows:
    """Windows of 50 ms with an allowed lateness of 20 ms, batch after batch."""

    def __init__(self, report: Report = REPORT) -> None:
        self.state = PeriodicState(report, Grid(50, 50))

    def after_batch(self, ends: set[int], before: int | None, after: int | None, batch: int) -> WindowsDue:
        """Takes a batch that counted events in the windows with these ends; returns what is due."""
        firing, self.state = self.state.after_batch(
            window_states.moved(batch, {end - 50 for end in ends}, before, after)
        )
        return firing


@pytest.mark.parametrize(("watermark", "fired"), [(99, set()), (100, {100}), (101, {100})])
def test_a_window_fires_when_the_watermark_reaches_its_end(watermark: int, fired: set[int]) -> None:
    firing = Windows().after_batch({100}, None, watermark, batch=1)
    assert firing.fired == fired
    assert not firing.refired
    assert firing.is_empty is not bool(fired)


def test_a_window_fires_again_when_a_later_batch_counts_in_it() -> None:
    windows = Windows()
    windows.after_batch({100}, None, 100, batch=1)
    firing = windows.after_batch({100}, 100, 105, batch=2)
    assert firing.refired == {100}
    assert not firing.fired
    assert firing.fired_by == {100: 1}


def test_a_fired_window_in_which_nothing_was_counted_is_not_due() -> None:
    windows = Windows()
    windows.after_batch({100}, None, 100, batch=1)
    assert windows.after_batch({200}, 100, 105, batch=2).is_empty


@pytest.mark.parametrize(("watermark", "closed"), [(119, set()), (120, {100})])
def test_a_window_closes_at_its_end_plus_the_allowed_lateness(watermark: int, closed: set[int]) -> None:
    windows = Windows()
    windows.after_batch({100}, None, 100, batch=1)
    firing = windows.after_batch(set(), 100, watermark, batch=2)
    assert firing.closed == closed
    assert firing.closed_until == watermark - 20
    assert windows.state.open == {100} - closed


def test_closed_windows_stay_closed_if_the_allowed_lateness_grows() -> None:
    windows = Windows(replace(REPORT, allowed_lateness_ms=1000, closed_before_ms=100))
    firing = windows.after_batch({100, 150}, 160, 160, batch=2)
    assert firing.refired == {150}
    assert firing.closed_until == 100
    assert windows.state.open == {150}


def test_one_batch_may_count_in_a_window_fire_it_and_close_it() -> None:
    windows = Windows()
    firing = windows.after_batch({100, 150}, None, 1000, batch=7)
    assert firing.fired == firing.closed == {100, 150}
    assert not windows.state.open
    assert firing.fired_by == {100: 7, 150: 7}


def test_no_window_is_due_while_there_is_no_watermark() -> None:
    firing = Windows().after_batch({100}, None, None, batch=1)
    assert firing.is_empty
    assert not firing.closed


def test_a_count_window_that_a_start_published_is_not_published_again() -> None:
    firing, state = CountState(published=7).at_start(0, batch=100)
    assert firing == CountsDue(after_batch=7)
    firing, _ = state.after_batch(window_states.moved(101, {0}, 0, 0))
    assert firing == CountsDue(after_batch=100)


@given(policies, streams)
def test_each_window_fires_once_and_closes_once_and_never_changes_after_that(
    policy: Policy, stream: list[Step]
) -> None:
    core, fired, closed = Core(policy), set[int](), set[int]()
    for step in stream:
        _, firing = core.take(step)
        assert not firing.fired & fired
        assert not firing.closed & closed
        assert not (firing.fired | firing.refired) & closed
        assert not firing.fired & firing.refired
        fired |= (
            firing.fired | firing.refired
        )  # one that was empty when the watermark passed it is only ever due "again"
        closed |= firing.closed
        assert closed <= fired


@given(policies, streams)
def test_a_window_with_counted_events_is_due_exactly_once_the_watermark_has_reached_its_end(
    policy: Policy, stream: list[Step]
) -> None:
    core, universe, shown = Core(policy), set[int](), dict[int, int]()
    counted = Counter[int]()
    for step in stream:
        before = core.frontier.watermark
        verdicts, firing = core.take(step)
        for record in [record for record in step.records if verdicts[record] is Verdict.COUNTED]:
            live = [
                end
                for end in ends_of(record, policy)
                if before is None or before < end + policy.reports[0].allowed_lateness_ms
            ]
            assert live
            universe |= set(live)
            counted.update(live)
        shown.update({end: counted[end] for end in firing.fired | firing.refired})
        watermark = core.frontier.watermark
        assert shown == {end: counted[end] for end in universe if watermark is not None and watermark >= end}


@given(policies, streams)
def test_a_publication_names_the_batch_whose_watermark_reached_the_end(policy: Policy, stream: list[Step]) -> None:
    core, reached = Core(policy), list[tuple[int, int]]()
    for step in stream:
        _, firing = core.take(step)
        if core.frontier.watermark is not None:
            reached.append((core.frontier.watermark, core.progress.batch_id))
        for end in firing.fired | firing.refired:
            assert firing.fired_by[end] == next(batch for watermark, batch in reached if watermark >= end)


@given(policies, streams, st.data())
def test_one_publication_for_several_batches_covers_the_publications_of_each(
    policy: Policy, stream: list[Step], data: st.DataObject
) -> None:
    core, firings = Core(policy), list[WindowsDue]()
    for step in stream:
        _, firing = core.take(step)
        firings += [] if firing.is_empty else [firing]  # the publisher is offered nothing else
    assume(firings)
    first = data.draw(st.integers(0, len(firings) - 1))
    together = reduce(WindowsDue.merge, firings[first:])
    names = {end: batch for firing in firings[first:] for end, batch in firing.fired_by.items()}
    assert together.fired_by == names
    assert together.fired | together.refired == names.keys()
    # Only what may have been published before must be replaced.
    assert together.fired == {end for firing in firings[first:] for end in firing.fired}
    assert not together.fired & together.refired


def test_totals_are_due_where_the_watermark_passes_a_multiple_if_anything_came_since() -> None:
    state = TotalsState(every_ms=10)
    steps = [
        (None, None, True, False),
        (None, 3, False, True),
        (3, 9, True, False),
        (9, 10, False, True),
        (10, 25, False, False),
        (25, 29, True, False),
        (29, 29, False, False),
        (29, 41, False, True),
    ]
    for before, after, counted, is_due in steps:
        found, state = state.after_batch(window_states.moved(1, {0} if counted else set(), before, after))
        assert found == TotalsDue(is_due=is_due), after


def test_a_start_writes_all_totals_again_once_there_is_a_watermark() -> None:
    state = TotalsState(every_ms=10)
    assert state.at_start(rules.NO_WATERMARK, batch=1)[0].is_empty
    firing, state = state.at_start(25, batch=1)
    assert firing.is_due
    assert state.after_batch(window_states.moved(1, set(), 25, 31))[0].is_empty, "nothing came since"
