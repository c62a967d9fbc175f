"""The names of an event's fields. An existing topic may use other names than our contract."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from uuid import UUID

GUID_BYTES: Final = 16
Format = Literal["avro", "json"]
JsonType = Literal["number", "boolean"]
TimeUnit = Literal["s", "ms", "us", "ns", "iso"]
GUID_HEADER: Final = "__value_schema_id"
"""The header of Confluent's serializers with the GUID of a value's schema."""
CONTENT_ID_HEADER: Final = "apicurio.value.contentId"
GLOBAL_ID_HEADER: Final = "apicurio.value.globalId"
"""The headers of Apicurio's serializers, of which they write one, by `apicurio.registry.use-id`."""
ID_HEADERS: Final = (GUID_HEADER, CONTENT_ID_HEADER, GLOBAL_ID_HEADER)
VISIT: Final = "visit"
CLICK: Final = "click"
OTHER: Final = "other"
"""The `event_type` in our own contract of an event that is neither: its kind is `event_name`."""


class Guid(int):
    """A schema id of Confluent's of 16 bytes; as text it is a GUID."""

    __slots__ = ()

    def __str__(self) -> str:
        """Returns the GUID, such as `6f3f4a4e-3a30-4e8d-9d0f-7c6a1d2e3f40`."""
        return str(UUID(int=self))


def schema_id_of(text: str) -> int:
    """Returns the id in a text, a number or a GUID. Raises ValueError for any other text."""
    return Guid(UUID(text).int) if "-" in text else int(text)


@dataclass(frozen=True, slots=True)
class EventFields:
    """The names of fields; a field of a nested record has dots in its name, such as `customer.id`.

    In JSON a number between dots is an index in an array, as in `items.0.id`. A path leads on inside of a text that is
    JSON, and in a list of records with `key` and `value` to the value of a key.
    """

    user: str = "user_id"
    """Several fields have commas between them: the first that is neither null nor empty is the user."""
    time: str = "event_time"
    time_unit: TimeUnit | None = None
    """None: the unit of the schema, or milliseconds if the schema has no unit."""
    kind: str = "event_type"
    """Empty if every event is a visit. Several fields have commas between them: the first that is neither null nor
    empty is the kind."""
    kinds: Mapping[str, str] = field(default_factory=lambda: {VISIT: VISIT, CLICK: CLICK})
    """Kind of event (visit, click or any other name) by value of the field `kind`; any other value is unknown."""
    page: str = "page_url"
    event_id: str = "event_id"
    """Field that is equal in all records of one event; required only for deduplication."""
    types: Mapping[str, JsonType] = field(default_factory=dict)
    """Types of further fields in JSON, by name; other fields are text."""

    @property
    def users(self) -> list[str]:
        """The names in `user`."""
        return self.user.split(",")

    @property
    def kind_fields(self) -> list[str]:
        """The names in `kind`; empty if every event is a visit."""
        return self.kind.split(",") if self.kind else []

    @property
    def has_other_kinds(self) -> bool:
        """Whether events may be of other kinds than visits and clicks."""
        return bool(self.kind) and not {*self.kinds.values()} <= {VISIT, CLICK}

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
    id_headers: Sequence[str] = ()
    """The headers that may name the schema of a value, in order of precedence."""
