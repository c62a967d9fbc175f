"""The slack of an event says which smaller bounds would have made it too late."""

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.event_time.strategies import LATEST, policies, rules_for
from tests.support.judge import judge
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.batch import slack
from tidemark.pipeline.event_time.lateness import cutoffs, too_late_at, waits_from
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded, TimeLag
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.fold.grouping_sets import groupings

WINDOWS = [Grid(50, 20, 7), Calendar(900_000, "Europe/Berlin"), Sessions(30)]


@given(policies, st.integers(1, LATEST), st.integers(-100, LATEST))
def test_an_event_would_be_too_late_under_exactly_the_bounds_that_are_smaller_by_its_slack(
    policy: Policy, time: int, watermark: int
) -> None:
    assume(judge(time, time, watermark, policy) is Verdict.COUNTED)
    grid = groupings(policy.reports)
    pane = time - (time + grid.shift_ms) % grid.pane_ms
    slacks = slack({pane: 1}, watermark, policy)
    for smaller in range(policy.strategy.delay_ms + 1):
        too_late = judge(time, time, watermark + smaller, policy) is Verdict.TOO_LATE
        assert too_late == any(ahead <= smaller for ahead in slacks)


@given(st.sampled_from(WINDOWS), st.integers(0, 60), st.integers(1, 3_000_000), st.integers(0, 3_000_000))
def test_an_event_becomes_too_late_at_the_watermark_that_puts_it_before_the_cutoff(
    windows: Grid | Calendar | Sessions, lateness: int, time: int, watermark: int
) -> None:
    reports = [Report("one", windows, lateness), Report("other", Grid(10, 10), 0)]
    assert (time < cutoffs(reports, watermark)[0]) == (too_late_at(reports, time) <= watermark)


#   watermark 100:  windows end at 100 and 200, own parts of sessions at 100: those of events before 70
#   sessions:       an event in time comes at 71 or later, and meets what ends at 71 or later, of events from 41 on
def test_count_windows_take_no_part_in_what_waits_to_be_final() -> None:
    counts, grid, sessions = (Report("all", windows, 0) for windows in (Counts(2), Grid(100, 100), Sessions(30)))
    assert waits_from([counts], 100) == rules.NEVER
    assert waits_from([counts, grid], 100) == waits_from([grid], 100) == 100
    assert waits_from([counts, grid, sessions], 100) == 41
    assert cutoffs([counts, grid], 100)[0] == rules.NO_WATERMARK


#   panes of 10:  [0, 10)  [10, 20)  [20, 30)     W = 5, bound 10
#   too late at:       10        20        30     by 5, by 15, by 25
def test_events_that_no_bound_makes_too_late_are_left_out() -> None:
    assert slack({0: 3, 10: 4, 20: 5}, 5, rules_for(10, 0)) == {5: 3}


def test_the_slack_under_a_long_bound_has_three_digits_of_the_bound() -> None:
    policy = Policy(Bounded(10_000), 1, 1, (Report("all", Grid(10, 10), 0),))
    assert slack(dict.fromkeys(range(0, 20000, 10), 1), 0, policy) == dict.fromkeys(range(100, 10_001, 100), 10)


def test_without_a_watermark_or_a_bound_that_moves_it_there_is_no_slack() -> None:
    report = Report("all", Grid(10, 10), 0)
    assert slack({0: 1}, None, Policy(Bounded(50), 1, 1, (report,))) == {}
    assert slack({0: 1}, 5, Policy(TimeLag(50), 1, 1, (report,))) == {}
    assert slack({0: 1}, 5, Policy(Bounded(50), 1, 1, (report,))) == {5: 1}
