"""The contract of a request: events with the fields of `schemas/user_event.2.avsc`, and the longest texts."""

from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from tidemark.producers.session_ids import without_session_ids_in_path

BODY_BYTES: Final = 65_536
"""The limit of browsers for the pending bytes of `sendBeacon`."""
EVENTS: Final = 100
ID_LENGTH: Final = 128
URL_LENGTH: Final = 2_048
AGENT_LENGTH: Final = 512
"""A longer user agent is cut off, not rejected, because it is a header of the request and no field of the event."""

PROPERTIES: Final = 20
PROPERTY_LENGTH: Final = 512
NAME_LENGTH: Final = 64

_Id = Annotated[str, StringConstraints(min_length=1, max_length=ID_LENGTH)]
_Milliseconds = Annotated[int, Field(gt=0, lt=2**53)]


def _cut(length: int) -> BeforeValidator:
    """Cuts off the rest of a longer text, which is better than to reject the event."""
    return BeforeValidator(lambda value: value[:length] if isinstance(value, str) else value)


_WithoutSessionIds = BeforeValidator(
    lambda value: without_session_ids_in_path(value) if isinstance(value, str) else value
)
_Url = Annotated[str, StringConstraints(min_length=1), _cut(URL_LENGTH), _WithoutSessionIds]
"""The validator that is last here is first to be applied."""
_Element = Annotated[str, StringConstraints(min_length=1), _cut(ID_LENGTH)]
_NoneIfEmpty = BeforeValidator(lambda value: None if value == "" else value)
"""Browsers send an empty text if there is no referrer."""
_Kind = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]*$", max_length=NAME_LENGTH)]
"""As names of kinds in the pipeline's settings."""
_PropertyName = Annotated[str, StringConstraints(pattern="^[A-Za-z][A-Za-z0-9_]*$", max_length=NAME_LENGTH)]
"""A part of a path in the pipeline's settings."""
_Text = Annotated[str, StringConstraints(max_length=PROPERTY_LENGTH)]


def _as_text(value: Any) -> Any:
    """Returns numbers in decimal notation, true and false as text; anything else unchanged."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and Decimal(value).is_finite():
        return f"{Decimal(str(value)):f}"
    return value


class Event(BaseModel):
    """An event as sent by a client; `event_time` is in milliseconds of the client's clock."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    event_id: _Id
    event_type: _Kind
    user_id: _Id
    event_time: _Milliseconds
    page_url: _Url
    session_id: Annotated[_Id | None, _NoneIfEmpty] = None
    referrer: Annotated[_Url | None, _NoneIfEmpty] = None
    element_id: Annotated[_Element | None, _NoneIfEmpty] = None
    properties: Annotated[
        dict[_PropertyName, Annotated[_Text, BeforeValidator(_as_text)]], Field(max_length=PROPERTIES)
    ] = Field(default={})
    """Values by name: texts, numbers, true or false."""


class RequestBody(BaseModel):
    """The body of a request. Its events are validated one by one, so that a bad event does not reject the others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    sent_at: _Milliseconds
    events: Annotated[list[Any], Field(min_length=1, max_length=EVENTS)]
