"""Times as verbs print them; an impossible time of a record is printed, too."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidemark.pipeline.instants import moment, ms_of, time_of


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


@given(st.integers(0, 253_402_300_799_999))
@example(10_414_456_034_565)  # a float of seconds is a microsecond lower
def test_an_instant_is_exact_to_the_millisecond_up_to_the_year_9999(milliseconds: int) -> None:
    assert moment(milliseconds) - datetime(1970, 1, 1, tzinfo=UTC) == timedelta(milliseconds=milliseconds)
    assert ms_of(moment(milliseconds)) == milliseconds
