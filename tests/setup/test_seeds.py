"""The seed of a run selects some tests: other runs select others, and the night has all."""

import pytest

from tests.support.seeds import drawn, in_turn, turn


def names(parameters: list[object], mark: str) -> list[object]:
    """Returns the values that have a mark."""
    return [one.values[0] for one in parameters if [each.name for each in one.marks] == [mark]]  # type: ignore[attr-defined]


def test_a_run_draws_as_many_as_it_is_given_and_leaves_the_others_to_the_night() -> None:
    runs = [drawn(range(9), 3, seed) for seed in range(100)]
    assert {len(names(run, "drawn")) for run in runs} == {3}
    assert {len(names(run, "nightly")) for run in runs} == {6}
    assert {value for run in runs for value in names(run, "drawn")} == {*range(9)}
    assert names(drawn(range(9), 3, 7), "drawn") == names(drawn(range(9), 3, 7), "drawn")


def test_several_parameters_are_drawn_together_and_keep_their_id_and_marks() -> None:
    values = [pytest.param(number, -number, id=str(number), marks=pytest.mark.slow) for number in range(3)]
    params = drawn(values, 1)
    assert [param.values for param in params] == [(0, 0), (1, -1), (2, -2)]
    assert [param.id for param in params] == ["0", "1", "2"]
    marks = [[mark.name for mark in param.marks] for param in params]
    assert sorted(marks) == [["slow", "drawn"], ["slow", "nightly"], ["slow", "nightly"]]


def test_samples_of_the_same_take_turns() -> None:
    for seed in range(9):
        assert [in_turn(number, 3, seed).name for number in range(3)].count("drawn") == 1
    assert {in_turn(1, 3, seed).name for seed in range(3)} == {"drawn", "nightly"}


def test_of_the_long_tests_of_a_file_every_third_one_runs_and_each_in_some_run() -> None:
    runs = [{number for number in range(7) if turn("tests/a.py", number, seed).name == "drawn"} for seed in range(20)]
    assert {frozenset(run) for run in runs} == {frozenset({0, 3, 6}), frozenset({1, 4}), frozenset({2, 5})}
