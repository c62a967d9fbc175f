"""Large batches keep rejected records apart, guided by the last batch or by a sample of the first."""

from collections import Counter

import pytest

from tidemark.pipeline.event_time.policy import Verdict
from tidemark.pipeline.event_time.tallies import Tallies, Tally
from tidemark.pipeline.fold import driver_chunks
from tidemark.pipeline.fold.statistics import Sample
from tidemark.pipeline.service.guesses import Guesses, dead_letter_count
from tidemark.pipeline.tables.large import NOTHING

LARGE_BATCH = 200_000
ROOM = 384 * 1024 * 1024


def batch(counted: int, malformed: int, partly_late: int = 0) -> Tallies:
    verdicts = Counter({Verdict.COUNTED: counted, Verdict.MALFORMED: malformed})
    return Tallies(partitions={0: Tally(verdicts, partly_late)})


def never() -> Sample:
    pytest.fail("a sample was taken")


def test_no_sample_is_taken_of_a_small_batch() -> None:
    guesses = Guesses(NOTHING, ROOM, LARGE_BATCH)
    assert not guesses.are_many_rejected(LARGE_BATCH - 1, never)
    guesses.committed(batch(0, 100))
    assert not guesses.are_many_rejected(LARGE_BATCH - 1, never)


@pytest.mark.parametrize(("share", "are_many"), [(0.0, False), (0.12, False), (0.125, True), (1.0, True)])
def test_a_large_first_batch_uses_a_sample(share: float, are_many: bool) -> None:
    assert Guesses(NOTHING, ROOM, LARGE_BATCH).are_many_rejected(LARGE_BATCH, lambda: Sample(share, 70.0)) is are_many


def test_later_batches_use_the_last_batch_with_records() -> None:
    guesses = Guesses(NOTHING, ROOM, LARGE_BATCH)
    guesses.committed(batch(100, 0))
    assert not guesses.are_many_rejected(LARGE_BATCH, never)
    guesses.committed(batch(80, 20))
    assert guesses.are_many_rejected(LARGE_BATCH, never)
    guesses.committed(Tallies())
    assert guesses.are_many_rejected(LARGE_BATCH, never)
    guesses.committed(batch(99, 1))
    assert not guesses.are_many_rejected(LARGE_BATCH, never)


def test_records_that_are_late_for_some_windows_are_also_dead_letters() -> None:
    assert dead_letter_count(batch(10, 3, partly_late=2)) == 5


def test_a_fold_is_small_if_each_record_can_be_a_row_of_the_size_in_the_sample() -> None:
    guesses = Guesses(NOTHING, ROOM, LARGE_BATCH)
    assert not guesses.is_small(5_000_000, 1), "nothing is known of its rows"
    assert not guesses.are_many_rejected(5_000_000, lambda: Sample(0.0, 68.0))
    assert guesses.is_small(5_000_000, 1)
    assert not guesses.is_small(6_000_000, 1)
    guesses = Guesses(NOTHING, ROOM, LARGE_BATCH)
    assert not guesses.are_many_rejected(5_000_000, lambda: Sample(0.0, 92.0))
    assert not guesses.is_small(5_000_000, 1), "of users with long names"


def test_an_empty_sample_does_not_change_the_row_size() -> None:
    guesses = Guesses(NOTHING, ROOM, LARGE_BATCH)
    assert not guesses.are_many_rejected(LARGE_BATCH, lambda: Sample(0.0, 0.0))
    assert not guesses.is_small(5_000_000, 1)


def test_a_driver_with_a_small_heap_collects_a_tenth_of_it() -> None:
    assert driver_chunks.driver_room(4_000_000_000) == 400_000_000
    assert driver_chunks.driver_room(1_500_000_000) == 150_000_000
    assert driver_chunks.driver_room(64_000_000_000) == driver_chunks.driver_room(5_000_000_000)
