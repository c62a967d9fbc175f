"""The oracle: derives the outcome of a record from its bytes, without Spark."""

from collections.abc import Mapping
from typing import NamedTuple

from tests.fuzz.reader import NotAvro, Reader
from tests.support.judge import judge
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.policy import Policy, Verdict

_FRAME = 5
_ACTS = ("visit", "click")
_OF_A_TIME = {Verdict.COUNTED: Check.PASSED, Verdict.TOO_LATE: Check.TOO_LATE, Verdict.FUTURE: Check.FUTURE}


class Outcome(NamedTuple):
    """The check that a record fails, and what could be read of it."""

    check: Check
    event_time: int | None = None
    user: str | None = None
    page: str | None = None


class Oracle:
    """Judges records of the given schemas."""

    def __init__(self, schemas: Mapping[int, str], policy: Policy) -> None:
        self._readers = {number: Reader(schema) for number, schema in schemas.items()}
        self._policy = policy

    def __call__(self, value: bytes | None, kafka_timestamp: int, watermark: int | None) -> Outcome:
        """The checks in the order in which `tidemark.pipeline.event_time.checks` has them."""
        if not value:
            return Outcome(Check.EMPTY_VALUE)
        if len(value) < _FRAME or value[0]:
            return Outcome(Check.MAGIC_BYTE)
        reader = self._readers.get(int.from_bytes(value[1:_FRAME], "big"))
        if reader is None:
            return Outcome(Check.SCHEMA_ID)
        try:
            event = reader.read(value, _FRAME)
        except NotAvro:
            return Outcome(Check.AVRO)
        return self._judged(event, kafka_timestamp, watermark)

    def _judged(self, event: dict[str, object], kafka_timestamp: int, watermark: int | None) -> Outcome:
        time, user, page = event["event_time"], _text(event["user_id"]), _text(event.get("page_url"))
        assert isinstance(time, int)
        if user is None or (page is None and event.get("page_url") is not None):
            return Outcome(Check.TEXT, time, user, page)
        if event["event_type"] not in _ACTS:
            return Outcome(Check.EVENT_TYPE, time, user, page)
        if not user:
            return Outcome(Check.USER_ID, time, user, page)
        verdict = judge(time, kafka_timestamp, watermark, self._policy)
        return Outcome(_OF_A_TIME.get(verdict, Check.EVENT_TIME), time, user, page)


def _text(raw: object) -> str | None:
    """None if it is not UTF-8."""
    assert raw is None or isinstance(raw, bytes)
    try:
        return raw.decode() if raw is not None else None
    except UnicodeDecodeError:
        return None
