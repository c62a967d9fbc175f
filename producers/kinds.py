"""The kind of disorder that the simulator gave an event: one small integer per event."""

from enum import IntEnum


class Kind(IntEnum):
    """The kinds of disorder; every event has exactly one."""

    ON_TIME = 0  # event time is when it was sent
    JITTERED = 1  # displaced backwards, but within the bound
    TOO_LATE = 2  # displaced so far that its window has closed
    FUTURE = 3  # ahead of the wall clock, so ahead of its Kafka timestamp
    BAD_MAGIC = 4
    UNKNOWN_SCHEMA = 5
    TRUNCATED = 6
    HUGE_STRING = 7  # claims an event id of two gigabytes
    EMPTY_USER = 8
    ZERO_TIME = 9
    EMPTY_VALUE = 10
    TOMBSTONE = 11


COUNTED = (Kind.ON_TIME, Kind.JITTERED)
MALFORMED = tuple(kind for kind in Kind if kind >= Kind.BAD_MAGIC)
