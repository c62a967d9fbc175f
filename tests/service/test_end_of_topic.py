"""Which partitions are silent at the end of a finite topic, and which hold back its windows."""

from collections.abc import Mapping

import pytest

from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.service.runner import held_by, silent_partitions


@pytest.mark.parametrize(
    ("newest", "silent"),
    [
        ({0: None, 1: None}, set[int]()),
        ({0: 1_000, 1: None}, {1}),
        ({0: 1_000, 1: 991}, set[int]()),
        #  0 |------------------x  newest of all, never silent
        #  1 |-------x             10 ms before: silent for the timeout
        ({0: 1_000, 1: 990, 2: 999}, {1}),
    ],
)
def test_silent_partitions(newest: Mapping[int, int | None], silent: set[int]) -> None:
    assert silent_partitions(newest, 10) == silent


@pytest.mark.parametrize(
    ("times", "holding"),
    [
        ({0: 5, 1: 7}, [0]),
        ({0: 5, 1: None, 2: 4}, [1]),
        ({0: 5, 1: 5}, [0, 1]),
        ({}, []),
    ],
)
def test_held_by(times: Mapping[int, int | None], holding: list[int]) -> None:
    states = {partition: PartitionState(0, 0, time) for partition, time in times.items()}
    assert held_by(Frontier({**states, 9: PartitionState(0, 0, 1, idle=True)})) == holding
