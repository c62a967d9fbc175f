"""The checks a record passes on its way to being counted, in order; the first that fails is its verdict.

Only of those that would count it is asked whether they repeat one that was: that is the last check. Whether its user
was erased, and later events are not wanted, is the first: nothing else is asked then.
"""

from enum import IntEnum
from typing import Final

from pipeline.event_time.policy import Verdict


class Check(IntEnum):
    """Code of the first failed check; a small number, because it is part of the fold's grouping key."""

    PASSED = 0
    PARTLY_LATE = 1
    TOO_LATE = 2
    FUTURE = 3
    EMPTY_VALUE = 4
    MAGIC_BYTE = 5
    SCHEMA_ID = 6
    AVRO = 7
    TEXT = 8
    EVENT_TYPE = 9
    USER_ID = 10
    EVENT_TIME = 11
    AHEAD_OF_CLOCK = 12
    DUPLICATE = 13
    ERASED = 14


DETAILS: Final[dict[Check, str]] = {
    Check.PASSED: "",
    Check.PARTLY_LATE: "some windows it belongs to had closed before its batch began; it counts in the others",
    Check.TOO_LATE: "every window it belongs to had closed before its batch began",
    Check.FUTURE: "event_time is further ahead of the Kafka timestamp than max_future_skew",
    Check.AHEAD_OF_CLOCK: "the time that counts is further ahead of the service's clock than max_ahead_of_clock",
    Check.EMPTY_VALUE: "the value is empty (a tombstone)",
    Check.MAGIC_BYTE: "the value does not begin with magic byte 0 and a 4-byte schema id",
    Check.SCHEMA_ID: "no schema has this schema id",
    Check.AVRO: "the bytes are not Avro of the schema that their schema id names",
    Check.TEXT: "user_id, or a field that a report has as a key, is not UTF-8",
    Check.EVENT_TYPE: "event_type is neither visit nor click",
    Check.USER_ID: "user_id is empty",
    Check.EVENT_TIME: "event_time is not between 1970-01-01T00:00:00.001Z and the end of the year 9999",
    Check.DUPLICATE: "an event with this event_id was counted before",
    Check.ERASED: "its user was erased, and later events are dropped (tidemark erase --drop-later)",
}


def verdict_of(check: Check) -> Verdict:
    """The verdict that a check's code stands for."""
    match check:
        case Check.PASSED | Check.PARTLY_LATE:
            return Verdict.COUNTED
        case Check.TOO_LATE:
            return Verdict.TOO_LATE
        case Check.FUTURE | Check.AHEAD_OF_CLOCK:
            return Verdict.FUTURE
        case Check.DUPLICATE:
            return Verdict.DUPLICATE
        case Check.ERASED:
            return Verdict.ERASED
        case _:
            return Verdict.MALFORMED


def reason_of(check: Check) -> str:
    """The reason that `dead_letters` has for a failed check."""
    return "partly_late" if check is Check.PARTLY_LATE else str(verdict_of(check))
