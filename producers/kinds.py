"""The kind of disorder of a simulated event: one small integer per event."""

from enum import IntEnum


class Kind(IntEnum):
    """The kinds of disorder; every event has exactly one."""

    ON_TIME = 0  # the event time is the time of sending
    JITTERED = 1  # moved backwards, within the bound
    TOO_LATE = 2  # moved backwards until its window has closed
    FUTURE = 3  # ahead of the wall clock, and so of its Kafka timestamp
    DUPLICATE = 4  # an earlier event, sent again unchanged
    BAD_MAGIC = 5
    UNKNOWN_SCHEMA = 6
    TRUNCATED = 7
    HUGE_STRING = 8  # claims an event id of two gigabytes
    EMPTY_USER = 9
    ZERO_TIME = 10
    EMPTY_VALUE = 11
    TOMBSTONE = 12


COUNTED = (Kind.ON_TIME, Kind.JITTERED)
MALFORMED = tuple(kind for kind in Kind if kind >= Kind.BAD_MAGIC)
