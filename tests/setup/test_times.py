"""Times as verbs print them; an impossible time of a record is printed, too."""

import pytest

from pipeline.instants import time_of


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "none yet"),
        (1_714_521_600_000, "2024-05-01 00:00:00"),
        (253_402_300_799_999, "9999-12-31 23:59:59"),
        (253_402_300_800_000, "253402300800000 ms, which is no time"),
        (2**63 - 1, "9223372036854775807 ms, which is no time"),
        (-(2**63), "-9223372036854775808 ms, which is no time"),
    ],
)
def test_an_impossible_time_is_shown_as_its_number(milliseconds: int | None, text: str) -> None:
    assert time_of(milliseconds) == text
