"""The body of a request to records for Kafka: pure, `received_ms` is an argument."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from producers.collect.contract import AGENT_LENGTH, Event, Told
from producers.encode import encode_one

MAX_AGE_MS: Final = 10 * 60_000
"""How old an event may be, unless told otherwise: old events of one client hold back the results of a quiet site."""
TOO_OLD: Final = "too_old"


class Malformed(Exception):
    """A body of which no event can be read; its text says why."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


Objection = tuple[str, str]
"""Reason of a rejection (one of a fixed set) and a sentence."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejected event; `event` is its index in the request, `reason` is one of a fixed set."""

    event: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Record:
    """An event as it goes to Kafka."""

    event_type: str
    key: bytes
    value: bytes


def read(
    body: bytes,
    received_ms: int,
    user_agent: str | None,
    max_age_ms: int = MAX_AGE_MS,
    judge: Callable[[Event], Objection | None] = lambda _: None,
) -> tuple[list[Record], list[Rejected]]:
    """Returns the records of a body, and the events that are rejected: malformed, too old, or by `judge`.

    Raises Malformed where the body is not of the contract.
    """
    try:
        told = Told.model_validate_json(body)
    except ValidationError as error:
        raise Malformed(*_why(error)) from error
    agent = user_agent[:AGENT_LENGTH] if user_agent else None
    records, rejected = list[Record](), list[Rejected]()
    for place, item in enumerate(told.events):
        match _read_event(item, told.sent_at, max_age_ms, judge):
            case Event() as event:
                acted_ms = acted_at(event.event_time, told.sent_at, received_ms)
                records.append(_record(event, acted_ms, agent))
            case reason, detail:
                rejected.append(Rejected(place, reason, detail))
    return records, rejected


def acted_at(event_time: int, sent_at: int, received_ms: int) -> int:
    """When the user acted, by our clock: so long before we heard of it as the teller held it back.

    A wrong clock of the teller cancels out, and nothing is in the future. Source: Snowplow's `derived_tstamp`.
    """
    return received_ms - max(0, sent_at - event_time)


def _read_event(
    told: Any, sent_at: int, max_age_ms: int, judge: Callable[[Event], Objection | None]
) -> Event | Objection:
    try:
        event = Event.model_validate(told)
    except ValidationError as error:
        return _why(error)
    if sent_at - event.event_time > max_age_ms:
        return TOO_OLD, f"event_time: more than {max_age_ms} ms before sent_at"
    return judge(event) or event


def _record(event: Event, acted_ms: int, agent: str | None) -> Record:
    fields = {**event.model_dump(), "event_time": acted_ms, "user_agent": agent}
    return Record(event.event_type, event.user_id.encode(), encode_one(fields))


def _why(error: ValidationError) -> tuple[str, str]:
    """The first thing that is wrong: pydantic's name for it, and a sentence."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return first["type"], f"{place}: {first['msg']}" if place else first["msg"]
