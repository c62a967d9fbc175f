"""The seed of a test run. Each run has another seed, which all of its workers share and its header prints."""

import os
import secrets
from collections.abc import Sequence
from random import Random
from typing import Any, Final
from zlib import crc32

import pytest

# Workers inherit the environment of the process that starts them.
SEED: Final = int(os.environ.setdefault("TESTS_SEED", str(secrets.randbelow(1_000_000))))
"""`TESTS_SEED=<number> make test-all` repeats a run."""
_TURNS: Final = 3
_PARAMETERS: Final = type(pytest.param())


def drawn(values: Sequence[Any], count: int, seed: int = SEED) -> list[Any]:
    """Returns parameters of a test, of which CI runs `count` that the seed selects; the night runs all.

    Each of `values` is a parameter, or a `pytest.param` of several with its id.
    """
    chosen = Random(seed).sample(range(len(values)), count)
    return [_marked(value, _mark(is_drawn=index in chosen)) for index, value in enumerate(values)]


def in_turn(number: int, of: int, seed: int = SEED) -> pytest.MarkDecorator:
    """Returns the mark of a test that CI runs in one of `of` runs, and another `number` in another; the night runs all.

    It is for tests that are samples of the same.
    """
    return _mark(is_drawn=seed % of == number)


def turn(file: str, number: int, seed: int = SEED) -> pytest.MarkDecorator:
    """Returns the mark of the `number`-th long test of a file: CI runs every third one, the night runs all."""
    return _mark(is_drawn=(crc32(f"{seed} {file}".encode()) + number) % _TURNS == 0)


def _marked(value: Any, mark: pytest.MarkDecorator) -> Any:
    if isinstance(value, _PARAMETERS):
        return pytest.param(*value.values, id=value.id, marks=(*value.marks, mark))
    return pytest.param(value, marks=mark)


def _mark(*, is_drawn: bool) -> pytest.MarkDecorator:
    return pytest.mark.drawn if is_drawn else pytest.mark.nightly
