"""Two versions are compared pair by pair."""

from benchmarks.versions import Cost, Pair, figures, times, times_table


def test_more_is_better_for_this_version() -> None:
    found = [Pair(ours=Cost(5.0, 9.0), theirs=Cost(10.0, 9.0)), Pair(ours=Cost(4.0, 8.0), theirs=Cost(4.0, 4.0))]
    assert (figures(found)["rate"], figures(found)["cpu_per_event"]) == (1.5, 1.5)
    assert times([(5.0, 10.0), (4.0, 2.0), (3.0, 3.0)])["ratio"] == 1


def test_starts_and_ages_are_shown_pair_by_pair_with_the_median() -> None:
    rows = [list(column.cells) for column in times_table("starts", [(5.0, 10.0), (4.0, 2.0), (3.0, 3.0)]).columns]
    assert rows[0] == ["1", "2", "3", "median"]
    assert rows[-1] == ["2.000", "0.500", "1.000", "1.000"]
