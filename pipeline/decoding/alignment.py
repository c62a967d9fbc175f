"""The fields that are needed of a topic's events, and the position of each in every version of the schema.

Avro's bytes have neither names nor types. A version is read by its own schema, and the connector finds a field in it by
its position: no names are compared, and two versions may have the same name for different fields and types.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastavro.schema import parse_schema

from tidemark.pipeline.decoding.common_type import CommonTypes, Kinds, Place, name_of, without_null
from tidemark.pipeline.decoding.field_names import FieldNames, require_distinct
from tidemark.pipeline.decoding.writer_schema import normal_schema
from tidemark.pipeline.errors import SetUpError

Needs = dict[str, Any]
"""Needed fields of a record by name, each with its needed fields; an empty value needs all of the field."""
Path = tuple[str, ...]
"""The names of the records around a field of an event, and its own."""
DecodedColumn = Mapping[str, Any]
"""A field that the connector decodes, as JSON for `connector/tidemark/EventColumns.java`."""


@dataclass(frozen=True, slots=True)
class AlignedField:
    """A needed field in all versions."""

    path: Path
    """Its names as they were needed; the first ones if several names are this field."""
    positions: Mapping[str, Sequence[int]]
    """Its position after those of the records around it, by schema id; without the versions that lack the field."""
    kinds: Kinds
    """Its type in the same versions."""
    inner: Mapping[str, "AlignedField"]
    """The needed fields of a record, by name."""

    def decoded_as(self, kind: Any) -> DecodedColumn:
        """Returns the column of values of the type `kind`, which can read the field in all versions."""
        return {"name": ".".join(self.path), "type": kind, "positions": self.positions}


class Alignment:
    """The needed fields in all versions of a schema."""

    def __init__(self, texts: Mapping[int, str], needs: Needs, words: Collection[str] = ()) -> None:
        """Reads Avro JSON texts by schema id, oldest first. Fields that are among the `words` are needed, too.

        Raises SetUpError if a text is not valid Avro, or if needed fields cannot be distinguished.
        """
        self.writers = {str(schema_id): normal_schema(schema_id, text) for schema_id, text in texts.items()}
        """The normal form of each version as JSON text, by schema id."""
        definitions: dict[str, dict[str, Any]] = {schema_id: {} for schema_id in self.writers}
        events: dict[str, Any] = {
            schema_id: parse_schema(json.loads(text), definitions[schema_id], _write_hint=False)
            for schema_id, text in self.writers.items()
        }
        self._types = CommonTypes(definitions)
        names = FieldNames(events)
        self.named = sorted(word for word in {*words} - needs.keys() if word in names)
        """The fields that are needed because they are among the words."""
        needs = needs | {name: {} for name in self.named}
        self.fields = self._field((), dict.fromkeys(events, ()), events, needs).inner

    def type_of(self, field: AlignedField) -> Any:
        """Returns the type that reads a whole field in all versions. Raises SetUpError if there is no such type."""
        return self._types.nullable(field.kinds, Place(".".join(field.path)))

    def plan(self, columns: Collection[DecodedColumn]) -> dict[str, Any]:
        """Returns what the connector needs to decode `columns`."""
        return {"columns": [*columns], "writers": self.writers}

    def _field(self, path: Path, positions: Mapping[str, Sequence[int]], kinds: Kinds, needs: Needs) -> AlignedField:
        """Returns the field at `path`, with the fields inside that `needs` names."""
        kinds = self._types.defined(kinds)
        records = {of: record for of, kind in kinds.items() if name_of(record := without_null(kind)) == "record"}
        names = FieldNames(records)
        inside = {name: names.positions(name) for name in needs}
        require_distinct(inside)
        inner: dict[str, AlignedField] = {}
        for name, found in inside.items():
            same = [other for other in inside if found and inside[other] == found] or [name]
            inner[name] = inner.get(same[0]) or self._field(
                (*path, name),
                {of: (*positions[of], position) for of, position in found.items()},
                {of: records[of]["fields"][position]["type"] for of, position in found.items()},
                _merged([needs[other] for other in same], name),
            )
        return AlignedField(path, positions, kinds, inner)


def _merged(needs: Sequence[Needs], name: str) -> Needs:
    """Returns what is needed of a field that several names need. Raises SetUpError if one name needs all of it."""
    names = {inner: None for of_name in needs for inner in of_name}
    merged = {inner: _merged([of_name[inner] for of_name in needs if inner in of_name], inner) for inner in names}
    if merged and not all(needs):
        raise SetUpError(
            f"{name} is read as a whole and in parts, maybe under another name: let conditions and schemas.mapping "
            "name different fields"
        )
    return merged
