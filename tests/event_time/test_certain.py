"""The certain watermark: until when nothing may change any more, whatever a person takes back."""

import pytest

from tidemark.pipeline.event_time.certain import certain_watermark
from tidemark.pipeline.event_time.rules import END_OF_INPUT
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState


def frontier(watermark: int | None, *times: int | None) -> Frontier:
    return Frontier({number: PartitionState(0, 0, time) for number, time in enumerate(times)}, watermark)


@pytest.mark.parametrize(
    ("watermark", "times", "certain"),
    [
        (None, [None], None),
        (500, [600], 500),
        (950, [10_000], 900),
        (10_000, [10_100, 20_000], 900),
        (END_OF_INPUT, [700, 600, None], 500),
        (END_OF_INPUT, [10_100, 20_000], 900),
        (END_OF_INPUT, [None], None),
    ],
)
def test_what_neither_clock_nor_the_end_of_the_input_made_is_certain(
    watermark: int | None, times: list[int | None], certain: int | None
) -> None:
    assert certain_watermark(frontier(watermark, *times), lag_ms=100, now=1_000) == certain
