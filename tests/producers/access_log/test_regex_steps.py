"""The counter of steps distinguishes linear expressions from expressions that backtrack."""

import re

import pytest

from tests.support.regex_steps import regex_steps


@pytest.mark.parametrize(
    ("source", "method", "text", "steps"),
    [
        ("a*b", "match", "aaa", 8),
        ("a*+b", "match", "aaa", 5),
        ("(?:ab|cc)+?d", "fullmatch", "abccd", 7),
        ("^a|b$", "search", "xxb", 8),
        ("a(?!b)", "search", "abac", 5),
        ("(?<=a)b", "search", "ab", 2),
        ("(?<!a)b", "search", "abb", 4),
        ("b", "sub", "abab", 5),
    ],
)
def test_each_look_at_a_character_is_a_step(source: str, method: str, text: str, steps: int) -> None:
    assert regex_steps(re.compile(source), method, text) == steps


@pytest.mark.slow
def test_an_expression_that_backtracks_takes_four_times_the_steps_for_twice_the_text() -> None:
    quadratic, linear = re.compile(r".+? \[([^]]+)\] x"), re.compile(r"(?:[^ ]*+ )*+x")
    counts = {
        pattern: [regex_steps(pattern, "fullmatch", " [" * count) for count in (100, 200)]
        for pattern in (quadratic, linear)
    }
    assert counts[quadratic][1] > 3.5 * counts[quadratic][0]
    assert counts[linear][1] < 2.5 * counts[linear][0]
