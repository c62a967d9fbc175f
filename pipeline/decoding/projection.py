"""Events of Tidemark's own schema: only the fields that the pipeline needs are read.

Reading three of nine fields makes decoding affordable. Versions resolve by Avro's rules: a field that a version lacks
is null, a narrower number is widened, and a renamed field is found by its alias.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.alignment import Alignment, Path
from tidemark.pipeline.decoding.common_type import name_of
from tidemark.pipeline.decoding.sql_words import words_of
from tidemark.pipeline.errors import SetUpError
from tidemark.schemas.fields import CLICK, VISIT, EventSchemas

UNKNOWN_TYPE: Final = "_unknown"
"""The event type of a kind that is not mapped, also of a later version. A mapped kind cannot have this name."""
MISSING_TYPE: Final = ""
"""The event type of an event without a kind: it is malformed, also where other kinds are left out."""
EVENT_TYPES: Final = [VISIT, CLICK, UNKNOWN_TYPE]
OURS: Final = (c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME)
_READ_AS: Final[Mapping[str, Any]] = {
    c.EVENT_TYPE: {"type": "enum", "name": "kind", "symbols": EVENT_TYPES, "default": UNKNOWN_TYPE},
    c.USER_ID: "string",
    c.EVENT_TIME: "long",
}
_TYPES: Final = {c.EVENT_TIME: {"type": "long", "logicalType": "timestamp-millis"}, c.USER_ID: "string"}


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
        for name in OURS:
            for schema_id in aligned.writers:
                _require(name, aligned.fields[name].kinds.get(schema_id), schema_id)
        self.names = [*OURS, *aligned.named]
        self._paths = {name: field.path for name, field in aligned.fields.items()}
        kinds = {aligned.fields[name].path: kind for name, kind in _READ_AS.items()}
        fields = {field.path: field for field in aligned.fields.values()}
        self.plan = aligned.plan(
            [field.decoded_as(kinds.get(path) or aligned.type_of(field)) for path, field in fields.items()]
        )
        """How the connector decodes the fields."""

    def columns(self) -> Sequence[Column]:
        """Returns `names` of the decoded fields."""
        return [decoded_column(self._paths[name]).alias(name) for name in self.names]

    def same_as_user(self) -> set[str]:
        """Returns the other names that the user has in a version."""
        return {name for name in self.names if self._paths[name] == self._paths[c.USER_ID]} - {c.USER_ID}


def _require(name: str, kind: Any, schema_id: str) -> None:
    """Raises SetUpError if a field of our own has another type than expected in a writer's schema."""
    if name == c.EVENT_TYPE:
        if name_of(kind) != "enum":
            raise SetUpError(f"the field {name} of schema {schema_id} is {kind!r}, but must be an enum")
    elif kind != _TYPES[name]:
        raise SetUpError(f"the field {name} of schema {schema_id} is {kind!r}, but must be {_TYPES[name]!r}")
