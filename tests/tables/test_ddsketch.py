"""Quantiles are as exact as stated, and do not depend on how numbers are cut and merged."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.pipeline.ddsketch import (
    RELATIVE_ERROR,
    WHOLE,
    bucket_of,
    merged,
    number_of,
    quantile,
    sketch_of,
)

MOST = 10**18 - 1
"""The highest absolute number of a measure."""
NUMBERS = st.one_of(st.integers(-MOST, MOST), st.integers(-300, 300), st.sampled_from([2**53 + 1, 2**59, MOST, -MOST]))
PARTS = st.integers(1, WHOLE - 1)


def sketch(numbers: Sequence[int]) -> bytes:
    return sketch_of(map(bucket_of, numbers), [1] * len(numbers))


def exact(numbers: Sequence[int], part: int) -> int:
    """Returns the lowest number that at least `part` / `WHOLE` of the numbers do not exceed."""
    return next(
        number for number in sorted(numbers) if sum(other <= number for other in numbers) * WHOLE >= part * len(numbers)
    )


@given(numbers=st.lists(NUMBERS, min_size=1, max_size=40), part=PARTS)
def test_a_quantile_is_within_the_stated_error_of_the_exact_one(numbers: list[int], part: int) -> None:
    expected, found = exact(numbers, part), quantile(sketch(numbers), part)
    assert found is not None
    assert abs(found - expected) <= RELATIVE_ERROR * abs(expected)
    if abs(expected) < 128:
        assert found == expected


@given(
    numbers=st.one_of(st.lists(NUMBERS, max_size=40), st.lists(NUMBERS, min_size=100, max_size=300)),
    seed=st.integers(0, 2**32),
)
def test_cuts_and_the_order_of_merges_do_not_matter(numbers: list[int], seed: int) -> None:
    draw = Random(seed)
    shuffled = draw.sample(numbers, len(numbers))
    cuts = [0, *sorted(draw.choices(range(len(numbers) + 1), k=5)), len(numbers)]
    parts = [sketch(shuffled[start:end]) for start, end in pairwise(cuts)]
    while len(parts) > 1:
        chosen = [parts.pop(draw.randrange(len(parts))) for _ in range(2)]
        parts.append(merged(chosen))
    assert parts == [sketch(numbers)]


@given(number=NUMBERS)
def test_buckets_are_in_the_order_of_their_numbers(number: int) -> None:
    assert bucket_of(number) in (bucket_of(number - 1), bucket_of(number - 1) + 1)
    assert bucket_of(-number) == -bucket_of(number)
    assert bucket_of(number_of(bucket_of(number))) == bucket_of(number)


def test_the_error_is_reached_and_the_buckets_are_bounded() -> None:
    # A test of an error that no number reaches could not fail.
    assert abs(number_of(bucket_of(2**40)) - 2**40) == RELATIVE_ERROR * 2**40
    assert bucket_of(2**60 - 1) - bucket_of(1 - 2**60) + 1 == 7_039  # absolute numbers are below 2 ** 60
    every = sketch_of(range(-3_519, 3_520), [2**40] * 7_039)
    assert len(every) == 12 * 7_039
    assert quantile(every, 5_000) == 0


@pytest.mark.parametrize(("part", "expected"), [(1, 1), (5_000, 5), (5_001, 6), (9_000, 9), (9_001, 10), (9_999, 10)])
def test_a_quantile_is_the_lowest_number_that_its_part_does_not_exceed(part: int, expected: int) -> None:
    assert quantile(sketch(range(1, 11)), part) == expected


def test_numbers_without_a_value_have_no_quantile() -> None:
    assert sketch([]) == merged([]) == merged([b"", b""]) == b""
    assert quantile(b"", 5_000) is None


def test_counts_are_added_exactly() -> None:
    many = merged([sketch_of([5], [2**61]), sketch_of([5], [1]), sketch_of([7], [2**61 + 2])])
    assert quantile(many, 5_000) == 7
    assert many == sketch_of([7, 5], [2**61 + 2, 2**61 + 1])
