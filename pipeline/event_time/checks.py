"""The checks a record passes on its way to being counted, in order; the first that fails is its verdict.

Whether the user was erased, with later events dropped, is checked first. Whether the record repeats a counted event is
checked last, for records that would count.
"""

from enum import IntEnum
from typing import Any, Final

from tidemark.pipeline.event_time.policy import Verdict
from tidemark.schemas.time_texts import ACCEPTED


class Check(IntEnum):
    """Code of the first failed check. It is a small integer because the fold groups by it."""

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
    AGE = 15
    OTHER_KIND = 16
    JSON = 17
    NO_TIME = 18
    TOMBSTONE = 19
    ARRIVAL = 20


def is_counted(check: Any) -> Any:
    """Condition: records with this check count. `check` is a code, or a column of codes of Spark, Arrow or numpy."""
    return check <= int(Check.PARTLY_LATE)


def moves_watermark(check: Any) -> Any:
    """Condition: the times of events with this check move the watermark: they count, or would if they were not late.

    `check` is a code, or a column of codes of Spark, Arrow or numpy.
    """
    return check <= int(Check.TOO_LATE)


_ARRIVAL: Final = (
    "the arrival is the Kafka timestamp, or the service's clock if that timestamp is wrong: no time, or more than "
    "time.max_age from the clock"
)
DETAILS: Final[dict[Check, str]] = {
    Check.PASSED: "",
    Check.PARTLY_LATE: "some windows it belongs to had closed before its batch began; it counts in the others",
    Check.TOO_LATE: "every window it belongs to had closed before its batch began",
    Check.FUTURE: f"event_time is further ahead of its arrival than max_future_skew; {_ARRIVAL}",
    Check.AHEAD_OF_CLOCK: "the time that counts is further ahead of the service's clock than max_ahead_of_clock",
    Check.EMPTY_VALUE: "the value is empty (a tombstone)",
    Check.MAGIC_BYTE: "the value does not begin with magic byte 0 and a 4-byte schema id",
    Check.SCHEMA_ID: "no schema has this schema id",
    Check.AVRO: (
        "the bytes are not Avro of the schema that their schema id names, or a condition reads a number that is too "
        "large"
    ),
    Check.JSON: (
        "the bytes are not an object or array of JSON in UTF-8, or are nested more than 500 deep, or have a name of "
        "more than 1,000 bytes"
    ),
    Check.TEXT: "user_id, or a field that a report has as a key, is not UTF-8",
    Check.EVENT_TYPE: "event_type is no value of schemas.mapping.kinds",
    Check.USER_ID: "user_id is empty",
    Check.NO_TIME: f"event_time is missing or unreadable: expected a number of 64 bits, or {ACCEPTED}",
    Check.EVENT_TIME: (
        "event_time is not between 1970-01-01T00:00:00.001Z and the end of the year 9999: is the unit right "
        "(schemas.mapping.time_unit)?"
    ),
    Check.ARRIVAL: (
        "the Kafka timestamp, which counts with time.of = ingestion, is wrong: it is not between "
        "1970-01-01T00:00:00.001Z and the end of the year 9999, or is more than time.max_age from the service's clock"
    ),
    Check.AGE: (
        "event_time is more than time.max_age before its arrival: is the unit right (schemas.mapping.time_unit)? Set "
        f"time.max_age = off to replay old events; {_ARRIVAL}"
    ),
    Check.DUPLICATE: "an event with this event_id was counted before",
    Check.OTHER_KIND: "its kind is not mapped, and other kinds are left out (schemas.mapping.other_kinds)",
    Check.TOMBSTONE: "the record is a tombstone, and tombstones are left out (kafka.tombstones)",
    Check.ERASED: "its user was erased, and later events are dropped (tidemark erase --drop-later)",
}


_VERDICTS: Final = {
    Check.PASSED: Verdict.COUNTED,
    Check.PARTLY_LATE: Verdict.COUNTED,
    Check.TOO_LATE: Verdict.TOO_LATE,
    Check.FUTURE: Verdict.FUTURE,
    Check.AHEAD_OF_CLOCK: Verdict.FUTURE,
    Check.DUPLICATE: Verdict.DUPLICATE,
    Check.OTHER_KIND: Verdict.LEFT_OUT,
    Check.TOMBSTONE: Verdict.LEFT_OUT,
    Check.ERASED: Verdict.ERASED,
}


def verdict_of(check: Check) -> Verdict:
    """Returns the verdict on a record whose first failed check is `check`: malformed by default."""
    return _VERDICTS.get(check, Verdict.MALFORMED)


def reason_of(check: Check) -> str:
    """Returns the value of `dead_letters.reason` for a failed check."""
    return "partly_late" if check is Check.PARTLY_LATE else str(verdict_of(check))
