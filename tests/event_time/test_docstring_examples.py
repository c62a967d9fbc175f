"""Examples in docstrings hold."""

import doctest
from types import ModuleType

import pytest

from tidemark.pipeline import measures
from tidemark.pipeline.event_time import firing, lateness
from tidemark.pipeline.event_time.windows import calendar, periodic
from tidemark.pipeline.results import buckets, levels


@pytest.mark.parametrize(
    "module", [firing, lateness, calendar, periodic, buckets, levels, measures], ids=lambda it: it.__name__
)
def test_examples_in_docstrings_hold(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed
