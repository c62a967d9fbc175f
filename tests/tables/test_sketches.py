"""Sketches of users are as exact as stated, and do not depend on the order of merges."""

from math import sqrt

import pytest

from tidemark.pipeline.sketches import estimate, merged, sketch_of

STANDARD_ERROR = 1.04 / sqrt(2**12)
"""Relative standard error of a merged sketch, as `pipeline/sketches.py` and the documents state it."""


def users(count: int, seed: int = 0) -> list[str]:
    return [f"user-{seed}-{user}" for user in range(count)]


@pytest.mark.parametrize("number", [0, 1, 2, 30, 300])
def test_few_users_are_counted_exactly(number: int) -> None:
    assert estimate(sketch_of(users(number))) == number
    assert estimate(merged([sketch_of(users(number)), sketch_of(users(number))])) == number


def test_many_users_are_counted_to_the_stated_error() -> None:
    errors = []
    for seed in range(12):
        all_users = users(15_000, seed)
        parts = [sketch_of(all_users[part::10]) for part in range(10)]
        errors.append(estimate(merged(parts)) / len(all_users) - 1)
    root_mean_square = sqrt(sum(error**2 for error in errors) / len(errors))
    assert root_mean_square < 1.5 * STANDARD_ERROR
    assert max(map(abs, errors)) < 4 * STANDARD_ERROR
    assert root_mean_square > STANDARD_ERROR / 3, "a test that takes exact counts for a sketch could not fail"


def test_the_order_of_merges_does_not_matter() -> None:
    first, second, third = (sketch_of(users(2_000, seed)) for seed in range(3))
    assert estimate(merged([merged([first, second]), third])) == estimate(merged([third, second, first, first]))


def test_a_sketch_stays_small() -> None:
    assert len(sketch_of(users(50_000))) < 5_000
    assert len(sketch_of(users(1))) < 20
