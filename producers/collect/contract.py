"""What a request may hold: events in the words of `schemas/user_event.avsc`, and how long each text may be."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

BODY_BYTES: Final = 65_536
"""As much as a browser lets a page have on its way by `sendBeacon`."""
EVENTS: Final = 100
ID_LENGTH: Final = 128
URL_LENGTH: Final = 2_048
AGENT_LENGTH: Final = 512
"""The rest of a user agent's name is cut off; it comes with the request, and no event is refused for it."""

_Id = Annotated[str, StringConstraints(min_length=1, max_length=ID_LENGTH)]
_Url = Annotated[str, StringConstraints(min_length=1, max_length=URL_LENGTH)]
_Milliseconds = Annotated[int, Field(gt=0, lt=2**53)]
_NoneIfEmpty = BeforeValidator(lambda value: None if value == "" else value)
"""A browser has no referrer in this way."""


class Event(BaseModel):
    """An act as it is told: its time is that of the teller's clock."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    event_id: _Id
    event_type: Literal["visit", "click"]
    user_id: _Id
    event_time: _Milliseconds
    page_url: _Url
    session_id: Annotated[_Id | None, _NoneIfEmpty] = None
    referrer: Annotated[_Url | None, _NoneIfEmpty] = None
    element_id: Annotated[_Id | None, _NoneIfEmpty] = None


class Told(BaseModel):
    """A request's body; its events are looked at one by one, for a bad one must not cost the others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    sent_at: _Milliseconds
    events: Annotated[list[Any], Field(min_length=1, max_length=EVENTS)]
