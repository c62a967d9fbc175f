"""Writer schemas of a topic, rewritten for a reader schema that reads all versions.

Avro reads bytes by the order of fields and resolves everything else by names, which are ours to choose: each needed
field has the same name in all versions, and its types have the same names. Fields that are not needed have names that
no needed field has, so neither their types nor the case of their names matters.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, cast

from fastavro.schema import parse_schema

from pipeline.decoding.field_names import FieldNames, Positions, overlap
from pipeline.decoding.writer_schema import normal_schema
from pipeline.decoding.writer_types import WriterTypes
from pipeline.errors import SetUpError

Field = dict[str, Any]
Needs = dict[str, Any]
"""Needed fields of a record by name, each with its needed fields; an empty value needs all of the field."""
Enclosing = Sequence[frozenset[str]]
_ROOT: Final = "event"


@dataclass(frozen=True, slots=True)
class AlignedField:
    """A needed field in all versions."""

    name: str
    """Its name in the rewritten schemas and in the reader's schema."""
    path: str
    """The name of its type, if the type has a name."""
    types: Sequence[Any]
    """Its rewritten type in each version; None if a version lacks the field."""
    inner: Mapping[str, "AlignedField"]
    """The needed fields of a record, by name."""


class Alignment:
    """The rewritten versions of a schema, and the needed fields in them."""

    def __init__(self, texts: Mapping[int, str], needs: Needs, words: Collection[str] = ()) -> None:
        """Reads Avro JSON texts by schema id, oldest first. Fields that are among the `words` are needed, too.

        Raises SetUpError if a text is not valid Avro, or if needed fields cannot be distinguished.
        """
        parsed = [_parsed(schema_id, text) for schema_id, text in texts.items()]
        self._types = [types for types, _ in parsed]
        records = [record for _, record in parsed]
        self.schema_ids = [*texts]
        names = FieldNames(records)
        self.named = sorted(word for word in {*words} - needs.keys() if word in names)
        """The fields that are needed because they are among the words."""
        needs = needs | {name: {} for name in self.named}
        self.prefix = _prefix(needs)
        self.fields, written = self._record(records, needs, _ROOT)
        self.writers = {
            types.schema_id: _text(fields, types) for types, fields in zip(self._types, written, strict=True)
        }

    def reader_schema(self, fields: Sequence[Field]) -> str:
        """Returns the reader schema of `fields`."""
        return json.dumps({"type": "record", "name": _ROOT, "fields": fields})

    def _record(
        self, records: Sequence[Mapping[str, Any] | None], needs: Needs, path: str, around: Enclosing | None = None
    ) -> tuple[dict[str, AlignedField], list[list[Field]]]:
        """Returns the needed fields of a record, and all its rewritten fields in each version.

        Without `needs` all fields are needed; `around` then has, by version, the names of the enclosing records.
        """
        names = FieldNames(records)
        positions = {name: names.positions(name) for name in needs} if needs else names.newest()
        _require_distinct(positions, self.schema_ids)
        fields: dict[Positions, AlignedField] = {}
        missing = AlignedField("", path, [None] * len(records), {})
        for name, found in positions.items():
            if any(position is not None for position in found) and found not in fields:
                same = [needs[other] for other in positions if positions[other] == found] if needs else []
                kinds = [
                    record["fields"][position]["type"] if record and position is not None else None
                    for record, position in zip(records, found, strict=True)
                ]
                fields[found] = self._field(kinds, _merged(same, name), name, f"{path}.{name}", around)
        prefix = _prefix(positions)
        written = [_fields(record, version, fields, prefix) for version, record in enumerate(records)]
        return {name: fields.get(found, missing) for name, found in positions.items()}, written

    def _field(
        self, kinds: Sequence[Any], needs: Needs, name: str, path: str, around: Enclosing | None
    ) -> AlignedField:
        """Returns a field; `kinds` has its type in each version, `needs` the fields that are needed inside it."""
        types = [*zip(self._types, kinds, around or [frozenset()] * len(kinds), strict=True)]
        records = [_record_of(of_version, kind) for of_version, kind, _ in types]
        is_record = all(record for record, kind in zip(records, kinds, strict=True) if kind is not None)
        if not needs and not is_record:
            read = [None if kind is None else of_version.read(kind, path, names) for of_version, kind, names in types]
            return AlignedField(name, path, read, {})
        inner_around = None
        if not needs:
            inner_around = [
                of_version.entered(record, path, names) if record else names
                for (of_version, _, names), record in zip(types, records, strict=True)
            ]
        inner, fields = self._record(records, needs, path, inner_around)
        rewritten = [
            _with_record(kind, {"type": "record", "name": path, "fields": fields[version]})
            if records[version]
            else kind
            for version, kind in enumerate(kinds)
        ]
        return AlignedField(name, path, rewritten, inner)


@dataclass(frozen=True, slots=True)
class _Skipped:
    """A type that is not read. It is rewritten last, because a name is defined where a schema has it first."""

    kind: Any


def _text(fields: Sequence[Field], types: WriterTypes) -> str:
    """Returns a schema as JSON text; JSON is written in the order in which Avro reads definitions."""
    schema = {"type": "record", "name": _ROOT, "fields": fields}
    return json.dumps(schema, default=lambda skipped: types.skip(skipped.kind))


def without_null(kind: Any) -> Any:
    """Returns the other type of a union with null; any other type unchanged."""
    others = [member for member in kind if member != "null"] if isinstance(kind, list) else []
    return others[0] if len(others) == 1 else kind


def _parsed(schema_id: int, text: str) -> tuple[WriterTypes, Mapping[str, Any]]:
    """Returns a schema in which each name is complete, and its types."""
    definitions: dict[str, Any] = {}
    record = parse_schema(json.loads(normal_schema(schema_id, text)), definitions, _write_hint=False)
    return WriterTypes(schema_id, definitions), cast(Mapping[str, Any], record)


def _record_of(types: WriterTypes, kind: Any) -> Mapping[str, Any] | None:
    """Returns the record that a type is, or is in a union with null."""
    definition = types.definition(without_null(kind))
    return definition if isinstance(definition, dict) and definition["type"] == "record" else None


def _with_record(kind: Any, record: Field) -> Any:
    if not isinstance(kind, list):
        return record
    return [branch if branch == "null" else record for branch in kind]


def _fields(
    record: Mapping[str, Any] | None, version: int, read: Mapping[Positions, AlignedField], prefix: str
) -> list[Field]:
    """Returns the rewritten fields of a record in one version."""
    if record is None:
        return []
    fields = [{"name": f"{prefix}{at}", "type": _Skipped(field["type"])} for at, field in enumerate(record["fields"])]
    for positions, field in read.items():
        if (position := positions[version]) is not None:
            fields[position] = {"name": field.name, "type": field.types[version]}
    return fields


def _prefix(names: Iterable[str]) -> str:
    """Returns a prefix that makes a name longer than all `names`."""
    return "_" * (1 + max(map(len, names), default=0))


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


def _require_distinct(positions: Mapping[str, Positions], schema_ids: Sequence[int]) -> None:
    """Raises SetUpError if two names are one field in some versions only, or differ only in case."""
    for first, second in combinations(positions, 2):
        same = overlap(positions[first], positions[second])
        if same and positions[first] != positions[second]:
            problem = f"are one field of schema {schema_ids[same[0]]}, but not of all"
        elif first.lower() == second.lower():
            problem = "differ only in case, which Spark does not distinguish"
        else:
            continue
        raise SetUpError(f"{first} and {second} {problem}: name only one of them in conditions and in schemas.mapping")
