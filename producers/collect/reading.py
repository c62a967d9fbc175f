"""Turns the body of a request into records for Kafka; pure, `received_ms` is an argument."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, Final, NamedTuple, assert_never

from pydantic import ValidationError

from tidemark.producers.collect.contract import Event, RequestBody
from tidemark.producers.collect.lenient_json import loads
from tidemark.producers.encode import encode_one
from tidemark.schemas import SECOND_ID
from tidemark.schemas.fields import CLICK, OTHER, VISIT

MAX_AGE_MS: Final = 10 * 60_000
"""Default of the maximal age of an event: old events of one client delay the results of a quiet site."""
TOO_OLD: Final = "too_old"
_INVALID_JSON: Final = "json_invalid"


class MalformedBody(Exception):
    """The body cannot be read; the text is the reason."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Objection(NamedTuple):
    """The reason of a rejection, which is one of a fixed set, and a sentence."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class RejectedEvent:
    """A rejected event; `event` is its index in the request, `reason` is from a fixed set."""

    event: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Record:
    """An event as sent to Kafka."""

    event_type: str
    """`visit`, `click`, or `other` for all other kinds: clients could send any number of them."""
    key: bytes
    value: bytes


def read(
    body: bytes,
    received_ms: int,
    user_agent: str | None,
    max_age_ms: int = MAX_AGE_MS,
    judge: Callable[[Event], Objection | None] = lambda _: None,
) -> tuple[list[Record], list[RejectedEvent]]:
    """Returns the records of `body`, and its rejected events: malformed, too old, or rejected by `judge`.

    Raises MalformedBody if the body violates the contract.
    """
    request = _request(body)
    records, rejected = list[Record](), list[RejectedEvent]()
    for index, item in enumerate(request.events):
        match _read_event(item, request.sent_at, max_age_ms, judge):
            case Event() as event:
                acted_ms = acted_at(event.event_time, request.sent_at, received_ms)
                records.append(_record(event, acted_ms, user_agent))
            case Objection(reason, detail):
                rejected.append(RejectedEvent(index, reason, detail))
            case never:
                assert_never(never)
    return records, rejected


def _request(body: bytes) -> RequestBody:
    try:
        try:
            return RequestBody.model_validate_json(body)
        except ValidationError as error:
            if _objection(error).reason != _INVALID_JSON:
                raise
            with suppress(JSONDecodeError):
                return RequestBody.model_validate(loads(body))
            raise
    except ValidationError as error:
        raise MalformedBody(*_objection(error)) from error


def acted_at(event_time: int, sent_at: int, received_ms: int) -> int:
    """Returns when the user acted by our clock, in ms: `received_ms` minus the time the client held the event back.

    A wrong clock of the client cancels out, and no event is in the future. Source: Snowplow's `derived_tstamp`.
    """
    return received_ms - max(0, sent_at - event_time)


def _read_event(
    item: Any, sent_at: int, max_age_ms: int, judge: Callable[[Event], Objection | None]
) -> Event | Objection:
    try:
        event = Event.model_validate(item)
    except ValidationError as error:
        return _objection(error)
    if sent_at - event.event_time > max_age_ms:
        return Objection(TOO_OLD, f"event_time: more than {max_age_ms} ms before sent_at")
    return judge(event) or event


def _record(event: Event, acted_ms: int, agent: str | None) -> Record:
    """Returns the record. A visit or click without properties has the first schema, which every pipeline knows."""
    fields = {**event.model_dump(), "event_time": acted_ms, "user_agent": agent}
    event_type = event.event_type if event.event_type in (VISIT, CLICK) else OTHER
    if event_type != OTHER and not event.properties:
        del fields["properties"]
        return Record(event_type, event.user_id.encode(), encode_one(fields))
    fields |= {"event_type": event_type, "event_name": event.event_type if event_type == OTHER else None}
    return Record(event_type, event.user_id.encode(), encode_one(fields, SECOND_ID))


def _objection(error: ValidationError) -> Objection:
    """Returns the first problem; its reason is pydantic's name of the problem."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = ".".join(map(str, first["loc"]))
    return Objection(first["type"], f"{path}: {first['msg']}" if path else first["msg"])
