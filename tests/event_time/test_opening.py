"""Closed windows stay closed after a change of settings."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.policy import Policy, TimeOf
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.settings_change import closed, moves_watermark_alike
from tidemark.pipeline.event_time.strategies import Bounded, Punctuated, TimeLag
from tidemark.pipeline.event_time.windows.grid import Grid

ONE, OTHER = Report("one", Grid(10, 10), 5), Report("other", Grid(10, 10), 50)


def policy(*reports: Report) -> Policy:
    return Policy(strategy=Bounded(0), idle_timeout_ms=1, max_future_skew_ms=0, reports=reports)


def test_a_report_that_stays_is_closed_as_far_as_its_lateness_of_before_says() -> None:
    assert closed(policy(ONE, OTHER), {}, 100, ["one", "other"]) == {"one": 95, "other": 50}


def test_a_report_that_goes_is_closed_up_to_the_watermark_and_stays_so() -> None:
    gone = closed(policy(ONE, OTHER), {}, 100, ["one"])
    assert gone == {"one": 95, "other": 100}
    later = closed(policy(ONE), gone, 200, ["one", "other"])
    assert later["other"] == 100


def test_a_restart_while_a_report_is_away_closes_no_more_of_it() -> None:
    gone = closed(policy(ONE, OTHER), {}, 100, ["one"])
    assert closed(policy(ONE), gone, 200, ["one"])["other"] == 100


def test_a_report_that_is_new_is_closed_where_all_others_are() -> None:
    assert closed(policy(ONE, OTHER), {}, 100, ["one", "other", "new"])["new"] == 50


def test_nothing_is_closed_where_there_is_no_watermark() -> None:
    assert closed(policy(ONE), {}, None, ["one"])["one"] < rules.EARLIEST_EVENT_MS


lateness = st.integers(0, 100)


@given(st.lists(st.tuples(lateness, lateness, st.sets(st.sampled_from(["one", "other"]), min_size=1)), max_size=8))
def test_no_change_of_settings_takes_back_what_was_closed(starts: list[tuple[int, int, set[str]]]) -> None:
    known, before, watermark = dict[str, int](), policy(ONE, OTHER), 0
    for step, (moved, late, names) in enumerate(starts):
        watermark += moved
        now = closed(before, known, watermark, names)
        assert all(now[name] >= time for name, time in known.items()), step
        reports = [replace(ONE, name=name, allowed_lateness_ms=late, closed_before_ms=now[name]) for name in names]
        known, before = now, policy(*reports)


def test_event_times_mean_the_same_only_where_the_same_thing_moves_the_watermark() -> None:
    one = policy(ONE)
    assert moves_watermark_alike(one, replace(one, strategy=Bounded(99)))
    assert not moves_watermark_alike(one, replace(one, time_of=TimeOf.INGESTION))
    assert not moves_watermark_alike(one, replace(one, strategy=TimeLag(0)))
    by_click, by_visit = (replace(one, strategy=Punctuated(f"event_type = '{kind}'")) for kind in ("click", "visit"))
    assert not moves_watermark_alike(by_click, by_visit)
    assert not moves_watermark_alike(one, replace(one, caps_watermark=True))
