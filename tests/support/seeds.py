"""The seed of a test run. Each run has another seed, which all of its workers share and its header prints."""

import os
import secrets
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import pytest

# Workers inherit the environment of the process that starts them.
SEED: Final = int(os.environ.setdefault("TESTS_SEED", str(secrets.randbelow(1_000_000))))
"""`TESTS_SEED=<number> make test-all` repeats a run."""


def drawn(values: Sequence[Any], count: int, seed: int = SEED) -> list[Any]:
    """Returns parameters of a test: `count` of the values are drawn for this run, the night has all of them."""
    chosen = Random(seed).sample(range(len(values)), count)
    return [
        value if index in chosen else pytest.param(value, marks=pytest.mark.nightly)
        for index, value in enumerate(values)
    ]
