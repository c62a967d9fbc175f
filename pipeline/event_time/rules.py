"""Rules and constants of event time, each written once.

The rules are plain arithmetic: they accept Python integers in the pure core and Spark columns in `pipeline/fold`. All
times are integer milliseconds since 1970, all windows half-open `[start, end)`.
Source: Flink, "Timely Stream Processing" and "Windows", with firing at `watermark >= end`.
"""

from typing import Any, Final

NO_WATERMARK: Final = -(2**62)
"""Means "no watermark yet" as a number. It is below every time even after a duration is added."""
NEVER: Final = 2**62
"""Above every time and every batch id."""
EARLIEST_EVENT_MS: Final = 1
LATEST_EVENT_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999; later event times are malformed."""
PARTITION_STEP: Final = 2**48
"""Distance of the record positions of one offset in two neighbouring partitions: a position is partition and offset."""
END_OF_INPUT: Final = LATEST_EVENT_MS
"""The watermark once the topic is declared complete: all windows fire and close, and every later event is too late."""


def as_number(watermark: int | None) -> int:
    """Returns a watermark as a number: `NO_WATERMARK` for None."""
    return NO_WATERMARK if watermark is None else watermark


def is_arrival(kafka_timestamp: Any, clock: Any, max_age_ms: int | None) -> Any:
    """Returns whether a Kafka timestamp can be trusted: it is a time, and no more than `max_age_ms` from `clock`.

    Otherwise the service's clock is the arrival of the record. A timestamp of 0 or -1, or in another unit, says
    nothing about the time of the event. `max_age_ms` is None without a limit.
    """
    is_near: Any = True
    if max_age_ms is not None:
        is_near = (kafka_timestamp >= clock - max_age_ms) & (kafka_timestamp <= clock + max_age_ms)
    return in_range(kafka_timestamp) & is_near


def is_future(event_time: Any, clock: Any, most_ms: int) -> Any:
    """Returns whether an event is more than `most_ms` ahead of `clock`: its arrival, or the service's clock."""
    return event_time - most_ms > clock  # the clock may be the largest number


def is_too_old(event_time: Any, clock: Any, most_ms: int) -> Any:
    """Returns whether an event is more than `most_ms` before `clock`."""
    return event_time < clock - most_ms


def in_range(event_time: Any) -> Any:
    """Returns whether an event time is between `EARLIEST_EVENT_MS` and `LATEST_EVENT_MS`."""
    return (event_time >= EARLIEST_EVENT_MS) & (event_time <= LATEST_EVENT_MS)
