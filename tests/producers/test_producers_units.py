"""Options as people type them."""

import pytest

from tidemark.command_line.times import duration_ms, instant_ms
from tidemark.producers.units import length_ms, rate, share, whole


@pytest.mark.parametrize(
    ("text", "ms"), [("0s", 0), ("500ms", 500), ("5s", 5_000), ("1.5m", 90_000), ("1h", 3_600_000), ("2d", 172_800_000)]
)
def test_durations_carry_their_unit(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1714521600000", 1_714_521_600_000),
        ("2024-05-01T00:00:00Z", 1_714_521_600_000),
        ("2024-05-01T02:00:00.250+02:00", 1_714_521_600_250),
        ("2024-05-01T00:00:00", 1_714_521_600_000),
    ],
)
def test_instants_are_epoch_milliseconds_or_iso_and_utc_without_an_offset(text: str, ms: int) -> None:
    assert instant_ms(text) == ms


def test_counts_may_be_grouped_by_underscores() -> None:
    assert whole("12_000_000") == 12_000_000


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (duration_ms, "5"),
        (duration_ms, "-5s"),
        (length_ms, "0s"),
        (instant_ms, "yesterday"),
        (share, "1.01"),
        (share, "nan"),
        (share, "few"),
        (rate, "-1"),
        (rate, "inf"),
        (whole, "0"),
        (whole, "1.5"),
        (whole, "_"),
    ],
)
def test_what_is_not_understood_is_quoted_back(read, text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=repr(text)):
        read(text)
