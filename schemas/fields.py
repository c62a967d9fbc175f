"""Which fields of an event are what. A topic that exists already has names of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

TimeUnit = Literal["s", "ms", "us", "ns", "iso"]
VISIT: Final = "visit"
CLICK: Final = "click"


@dataclass(frozen=True, slots=True)
class EventFields:
    """The names of fields; of one within a record with dots, such as `customer.id`."""

    user: str = "user_id"
    time: str = "event_time"
    time_unit: TimeUnit | None = None
    """None for what the schema says, and milliseconds where it says nothing."""
    kind: str = "event_type"
    """Empty where every event is a visit."""
    kinds: Mapping[str, str] = field(default_factory=lambda: {VISIT: VISIT, CLICK: CLICK})
    """What a value of the kind stands for; of any other it is not known."""
    page: str = "page_url"
    event_id: str = "event_id"
    """What two records of one event have in common; asked for only where events are deduplicated."""

    @property
    def are_ours(self) -> bool:
        """Whether they are those of our own contract."""
        return self == EventFields()


@dataclass(frozen=True, slots=True)
class EventSchemas:
    """What a topic's events are written by: schema id -> Avro JSON text, and which of the fields are what."""

    texts: Mapping[int, str]
    fields: EventFields = field(default_factory=EventFields)
