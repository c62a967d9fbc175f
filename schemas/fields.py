"""The names of an event's fields. An existing topic may use other names than our contract."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Format = Literal["avro", "json"]
JsonType = Literal["number", "boolean"]
TimeUnit = Literal["s", "ms", "us", "ns", "iso"]
VISIT: Final = "visit"
CLICK: Final = "click"


@dataclass(frozen=True, slots=True)
class EventFields:
    """The names of fields; a field of a nested record has dots in its name, such as `customer.id`.

    In JSON a number between dots is an index in an array, as in `items.0.id`.
    """

    user: str = "user_id"
    time: str = "event_time"
    time_unit: TimeUnit | None = None
    """None: the unit of the schema, or milliseconds if the schema has no unit."""
    kind: str = "event_type"
    """Empty if every event is a visit."""
    kinds: Mapping[str, str] = field(default_factory=lambda: {VISIT: VISIT, CLICK: CLICK})
    """Kind of event (visit or click) by value of the field `kind`; any other value is unknown."""
    page: str = "page_url"
    event_id: str = "event_id"
    """Field that is equal in all records of one event; required only for deduplication."""
    types: Mapping[str, JsonType] = field(default_factory=dict)
    """Types of further fields in JSON, by name; other fields are text."""

    @property
    def are_default(self) -> bool:
        """Whether these are the fields of our own contract."""
        return self == EventFields()


@dataclass(frozen=True, slots=True)
class EventSchemas:
    """The schemas of a topic's events (schema id -> Avro JSON text; empty for JSON), and the names of the fields."""

    texts: Mapping[int, str]
    fields: EventFields = field(default_factory=EventFields)
    has_long_ids: bool = False
    """Whether ids of eight bytes are read, too."""
    format: Format = "avro"
