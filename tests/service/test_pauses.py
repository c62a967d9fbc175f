"""Pauses between attempts, and when to give up. Times in seconds."""

from itertools import islice

from tidemark.pipeline.commands.retries import Retries
from tidemark.pipeline.service.pauses import growing


def test_pauses_grow_up_to_the_last_one() -> None:
    assert list(islice(growing(1, 2, 5), 5)) == [1, 2, 5, 5, 5]


def test_attempts_in_vain_are_made_for_ever_with_pauses_of_up_to_a_minute() -> None:
    retries = Retries()
    pauses = [retries.after_failure(now, now - 1, committed=False) for now in range(0, 7000, 1000)]
    assert pauses == [1, 2, 5, 10, 30, 60, 60]


def test_an_attempt_that_committed_makes_the_next_pause_short() -> None:
    retries = Retries()
    for now in range(4):
        retries.after_failure(now, now, committed=False)
    assert retries.after_failure(10, 9, committed=True) == 1
    assert retries.after_failure(12, 11, committed=False) == 2


def test_an_attempt_that_ran_for_ten_minutes_was_well_though_there_was_nothing_to_commit() -> None:
    retries = Retries(give_up_after_s=60)
    retries.after_failure(0, 0, committed=False)
    assert retries.after_failure(601, 1, committed=False) == 1


def test_it_gives_up_once_attempts_committed_nothing_for_the_limit() -> None:
    #  fails   0   20   59   60
    #  pause   1   2    1    None: the pause before the last one ends when it is time
    retries = Retries(give_up_after_s=60)
    assert retries.after_failure(0, 0, committed=False) == 1
    assert retries.after_failure(20, 19, committed=False) == 2
    assert retries.after_failure(59, 58, committed=False) == 1
    assert retries.after_failure(60, 59, committed=False) is None


def test_a_commit_gives_it_all_the_time_again() -> None:
    retries = Retries(give_up_after_s=60)
    retries.after_failure(0, 0, committed=False)
    assert retries.after_failure(59, 50, committed=True) == 1
    assert retries.after_failure(100, 99, committed=False) == 2
