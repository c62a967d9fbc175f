"""Lists of texts have what a recount has, and do not depend on how events are cut and merged."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.pipeline.value_lists import (
    left_out,
    merged_paths,
    merged_sets,
    path_of,
    set_of,
    texts_of_path,
    texts_of_set,
)

TEXTS = st.one_of(st.sampled_from(["/", "/a", "/b", "", "\u00fc", "\U0001f600"]), st.text(max_size=4))
TIMES = st.one_of(st.integers(1, 4), st.integers(1, 253_402_300_799_999))
EVENTS = st.lists(st.tuples(TIMES, st.integers(0, 2**55), TEXTS), max_size=30, unique_by=lambda event: event[1])
MOST = st.integers(1, 8)
Event = tuple[int, int, str]


def as_path(events: Sequence[Event], most: int) -> bytes:
    return path_of(events, most)


def as_set(events: Sequence[Event], most: int) -> bytes:
    return set_of([text for *_, text in events], most)


@given(events=EVENTS, most=MOST)
def test_a_path_has_the_first_texts_in_order_and_the_number_of_others(events: list[Event], most: int) -> None:
    state = as_path(events, most)
    assert texts_of_path(state) == [text for *_, text in sorted(events)][:most]
    assert left_out(state) == max(len(events) - most, 0)


@given(events=EVENTS, most=MOST)
def test_a_set_has_the_lowest_texts_and_whether_there_are_others(events: list[Event], most: int) -> None:
    state, different = as_set(events, most), sorted({text for *_, text in events})
    assert texts_of_set(state) == different[:most]
    assert left_out(state) == (len(different) > most)


@pytest.mark.parametrize(("of", "merged"), [(as_path, merged_paths), (as_set, merged_sets)])
@given(events=EVENTS, most=MOST, seed=st.integers(0, 2**32))
def test_cuts_and_the_order_of_merges_do_not_matter(
    of: Callable[[Sequence[Event], int], bytes],
    merged: Callable[[Sequence[bytes]], bytes],
    events: list[Event],
    most: int,
    seed: int,
) -> None:
    draw = Random(seed)
    shuffled = draw.sample(events, len(events))
    cuts = [0, *sorted(draw.choices(range(len(events) + 1), k=5)), len(events)]
    parts = [of(shuffled[start:end], most) for start, end in pairwise(cuts)]
    while len(parts) > 1:
        chosen = [parts.pop(draw.randrange(len(parts))) for _ in range(draw.randint(2, len(parts)))]
        parts.append(merged(chosen))
    assert parts == [of(events, most)]


def test_without_a_text_a_state_is_empty() -> None:
    assert set_of([], 3) == path_of([], 3) == merged_sets([b"", b""]) == merged_paths([]) == b""
    assert (texts_of_set(b""), texts_of_path(b""), left_out(b"")) == ([], [], 0)


def test_a_set_that_was_cut_remains_cut_although_the_other_has_no_further_text() -> None:
    whole, cut = set_of("ab", 2), set_of("abc", 2)
    assert merged_sets([cut, whole]) == merged_sets([whole, cut]) == cut != whole
    assert (left_out(cut), left_out(whole)) == (1, 0)
