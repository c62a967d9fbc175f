"""The rules of event time, each written once.

They are plain arithmetic, so the same line judges a Python integer in the pure core and a Spark column in
`pipeline.fold`. All times are integer milliseconds since the epoch, all windows half-open `[start, end)`.
Source: Flink, "Timely Stream Processing" and "Windows", with firing at `watermark >= end`.
"""

from typing import Any, Final

NO_WATERMARK: Final = -(2**62)
"""Stands for "no watermark yet" where a number is needed; far below any time, yet durations can be added to it."""

NEVER: Final = 2**62
"""Above every time and every batch id."""
EARLIEST_EVENT_MS: Final = 1
LATEST_EVENT_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999: a later event time is not a time but garbage."""


def as_number(watermark: int | None) -> int:
    """A watermark that may not be there yet, in milliseconds."""
    return NO_WATERMARK if watermark is None else watermark


def is_future(event_time: Any, clock: Any, most_ms: int) -> Any:
    """An event that claims to come from further ahead of a clock (its Kafka timestamp, our own) than clocks differ."""
    return event_time > clock + most_ms


def in_range(event_time: Any) -> Any:
    """Whether an event time is a time at all."""
    return (event_time >= EARLIEST_EVENT_MS) & (event_time <= LATEST_EVENT_MS)
