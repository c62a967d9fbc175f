"""Health: the least time that the oldest unprocessed record has waited. Partition 0 by default."""

from bisect import bisect_right
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tidemark.pipeline.metrics.probes import Backlog, Loop, health, reached, readiness

MAX_AGE_MS = 60_000
STUCK_AFTER_MS = 300_000


def test_nothing_waits_when_all_is_committed() -> None:
    backlog = Backlog()
    backlog.add({0: 10}, {0: 10}, now=0)
    assert backlog.oldest_age_ms({0: 10}, now=90_000) is None


def test_a_backlog_found_at_the_start_counts_from_its_first_sighting() -> None:
    # sightings  10     10
    # time       100    5100
    backlog = Backlog()
    backlog.add({0: 10}, {0: 0}, now=100)
    backlog.add({0: 10}, {0: 0}, now=5100)
    assert backlog.oldest_age_ms({0: 0}, now=5100) == 5000


def test_the_age_is_that_of_the_first_record_not_committed() -> None:
    # sightings  10  20   30       committed: 10, then 25
    # time       0   1000 2000
    backlog = Backlog()
    for now, end in ((0, 10), (1000, 20), (2000, 30)):
        backlog.add({0: end}, {0: 0}, now)
    assert backlog.oldest_age_ms({0: 10}, now=3000) == 2000
    assert backlog.oldest_age_ms({0: 25}, now=3000) == 1000
    assert backlog.oldest_age_ms({0: 30}, now=3000) is None


def test_the_slowest_partition_decides() -> None:
    backlog = Backlog()
    backlog.add({0: 10, 1: 0}, {0: 0, 1: 0}, now=0)
    backlog.add({0: 10, 1: 5}, {0: 0, 1: 0}, now=4000)
    assert backlog.oldest_age_ms({0: 10, 1: 0}, now=5000) == 1000
    assert backlog.oldest_age_ms({0: 0, 1: 0}, now=5000) == 5000


def test_a_quiet_night_does_not_age_the_first_record_of_the_morning() -> None:
    backlog = Backlog()
    backlog.add({0: 10}, {0: 10}, now=0)
    backlog.add({0: 11}, {0: 10}, now=36_000_000)
    assert backlog.oldest_age_ms({0: 10}, now=36_000_000) == 0


def test_a_partition_that_is_not_read_yet_is_not_unhealthy() -> None:
    backlog = Backlog()
    backlog.add({0: 1, 1: 9}, {}, now=0)
    assert backlog.oldest_age_ms({0: 1}, now=MAX_AGE_MS) is None


def test_a_clock_that_goes_back_makes_no_negative_age() -> None:
    backlog = Backlog()
    backlog.add({0: 1}, {0: 0}, now=5000)
    assert backlog.oldest_age_ms({0: 0}, now=4000) == 0


def test_a_service_stuck_for_long_fills_no_memory_and_forgets_no_age() -> None:
    backlog = Backlog()
    for second in range(3_000):
        backlog.add({0: 10 + second}, {0: 0}, now=second * 1000)
    assert len(backlog._sightings[0]) <= 1000
    assert backlog.oldest_age_ms({0: 0}, now=3_000_000) == 3_000_000


gaps = st.lists(st.integers(1, 5000), min_size=1, max_size=40).map(lambda steps: list(accumulate(steps)))


@given(arrivals=gaps, looks=gaps, position=st.integers(0, 40))
def test_the_age_is_never_too_high_and_too_low_by_no_more_than_a_look(
    arrivals: list[int], looks: list[int], position: int
) -> None:
    backlog = Backlog()
    for look in looks:
        backlog.add({0: bisect_right(arrivals, look)}, {0: 0}, look)
    now, seen = looks[-1], bisect_right(arrivals, looks[-1])
    age = backlog.oldest_age_ms({0: position}, now)
    if position >= seen:
        assert age is None
    else:
        longest = max(later - earlier for earlier, later in pairwise([0, *looks]))
        assert age is not None
        assert age <= now - arrivals[position] <= age + longest


def test_a_loop_that_has_not_turned_for_too_long_is_unhealthy() -> None:
    loop = Loop(at_ms=0)
    loop.turn(1000, "the service is running")
    assert health(loop, 1000 + STUCK_AFTER_MS - 1, STUCK_AFTER_MS).ok
    unwell = health(loop, 1000 + STUCK_AFTER_MS, STUCK_AFTER_MS)
    assert not unwell.ok
    assert unwell.sentence == "Unhealthy: the service is running; its last loop was 300.0 s ago, and 300 s is too long."


def test_a_start_that_publishes_much_is_slow_and_not_stuck() -> None:
    loop = Loop(at_ms=0, is_starting=True)
    assert health(loop, 12 * STUCK_AFTER_MS - 1, STUCK_AFTER_MS).ok
    assert health(loop, 12 * STUCK_AFTER_MS, STUCK_AFTER_MS).sentence.endswith("and 3600 s is too long.")


def test_a_turn_of_the_loop_keeps_its_activity() -> None:
    loop = Loop(at_ms=0, activity="the service is running")
    loop.turn(2500)
    assert health(loop, 3000, STUCK_AFTER_MS).sentence == (
        "Healthy: the service is running; its last loop was 0.5 s ago."
    )


def test_a_clock_that_goes_back_is_not_unhealthy() -> None:
    assert health(Loop(at_ms=5000), 4000, STUCK_AFTER_MS).sentence.endswith("its last loop was 0.0 s ago.")


def test_readiness_reports_what_is_missing() -> None:
    late, early = MAX_AGE_MS, MAX_AGE_MS - 1
    assert readiness(early, early, early, MAX_AGE_MS, caught_up=True).sentence == (
        "Ready: no record and no publication has waited for 60 s."
    )
    assert readiness(None, None, None, MAX_AGE_MS, caught_up=True).ok
    never = readiness(None, None, None, MAX_AGE_MS, caught_up=False)
    record = readiness(late, None, None, MAX_AGE_MS, caught_up=True)
    window = readiness(None, late, None, MAX_AGE_MS, caught_up=True)
    unknown = readiness(None, None, late, MAX_AGE_MS, caught_up=True)
    assert [answer.ok for answer in (never, record, window, unknown)] == [False] * 4
    assert never.sentence == "Not ready: the service has not caught up with the topic yet."
    assert record.sentence == "Not ready: the oldest unprocessed record has waited 60.0 s, and 60 s is too long."
    assert window.sentence == "Not ready: publication has lagged for 60.0 s, and 60 s is too long."
    assert unknown.sentence == (
        "Not ready: the brokers have not reported for 60.0 s whether there are new records, and 60 s is too long."
    )


def test_a_goal_is_reached_when_every_partition_has_reached_it() -> None:
    assert reached({0: 5, 1: 7}, {0: 5, 1: 6})
    assert not reached({0: 5, 1: 5}, {0: 5, 1: 6})
    assert reached({0: 5}, {0: 5, 1: 6})
