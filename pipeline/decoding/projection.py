"""The Avro reader schema: only the fields of a writer's schema that the pipeline needs.

Reading three of nine fields makes decoding affordable. Versions resolve by Avro's rules: a field that a version lacks
is null, a narrower number is widened, and a renamed field is found by its alias.
"""

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.decoding.alignment import AlignedField, Alignment, Field
from pipeline.decoding.common_type import nullable_field
from pipeline.decoding.field_names import words_of
from pipeline.errors import SetUpError
from schemas.fields import EventSchemas

UNKNOWN_TYPE: Final = "unknown"
"""The symbol for event types of later versions."""
MISSING_TYPE: Final = ""
"""The event type of an event without a kind: it is malformed, also where other kinds are left out."""
EVENT_TYPES: Final = ["visit", "click", UNKNOWN_TYPE]
OURS: Final = (c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME)
_TYPES: Final = {c.EVENT_TIME: {"type": "long", "logicalType": "timestamp-millis"}, c.USER_ID: "string"}


Path = tuple[str, ...]
"""The names of the records around a field of a reader schema, and its own."""


def decoded_column(path: Path) -> Column:
    """Returns the column of a decoded field."""
    return F.col(f"`{'.'.join(('event', *path))}`")


class OwnProjection:
    """Reads events whose fields have Tidemark's own names and types."""

    def __init__(self, schemas: EventSchemas, sql: str) -> None:
        """Reads the fields that every event needs and those that `sql` names.

        Raises SetUpError if a needed field is missing or of another type: its values would be misread.
        """
        aligned = Alignment(schemas.texts, {name: {} for name in OURS}, words_of(sql))
        self._fields = aligned.fields
        self.names = [*OURS, *aligned.named]
        self.writers = aligned.writers
        """The rewritten schemas by schema id, as JSON."""
        for name in OURS:
            for schema_id, kind in zip(aligned.schema_ids, self._fields[name].types, strict=True):
                _require(name, kind, schema_id)
        own = [self._fields[name].name for name in OURS]
        others = {field.name: field for field in self._fields.values() if field.name not in own}
        self.reader_schema = aligned.reader_schema(
            [
                {"name": own[0], "type": _event_type(self._fields[c.EVENT_TYPE])},
                {"name": own[1], "type": "string"},
                {"name": own[2], "type": "long"},
                *(nullable_field(field) for field in others.values()),
            ]
        )

    @property
    def paths(self) -> list[Path]:
        """Returns the fields of the reader schema that are read as columns."""
        return [(self._fields[name].name,) for name in self.names]

    def columns(self) -> Sequence[Column]:
        """Returns `names` of the decoded fields."""
        return [decoded_column(path).alias(name) for path, name in zip(self.paths, self.names, strict=True)]

    def same_as_user(self) -> set[str]:
        """Returns the other names that the user has in a version."""
        user = self._fields[c.USER_ID].name
        return {name for name in self.names if self._fields[name].name == user} - {c.USER_ID}


def _event_type(field: AlignedField) -> Field:
    return {"type": "enum", "name": field.path, "symbols": EVENT_TYPES, "default": UNKNOWN_TYPE}


def _require(name: str, kind: Any, schema_id: int) -> None:
    """Raises SetUpError if a field of our own has another type than expected in a writer's schema."""
    if name == c.EVENT_TYPE:
        if not isinstance(kind, dict) or kind["type"] != "enum":
            raise SetUpError(f"the field {name} of schema {schema_id} is {kind!r}, but must be an enum")
    elif kind != _TYPES[name]:
        raise SetUpError(f"the field {name} of schema {schema_id} is {kind!r}, but must be {_TYPES[name]!r}")
