"""The type that reads a field in all versions of a schema, and that Spark can read.

It is an Avro type. In its records each field has `positions`: where the record of each version has the field.
"""

import json
from collections.abc import Collection, Mapping
from math import floor, log10
from typing import Any, Final, NamedTuple

from tidemark.pipeline.decoding.field_names import FieldNames, require_distinct
from tidemark.pipeline.errors import SetUpError

Kinds = Mapping[str, Any]
"""A type in versions of the schema, by schema id; without the versions that lack it."""
_NUMBERS: Final = frozenset(["int", "long", "float", "double"])
_NAMED: Final = ("record", "enum", "fixed")
_MOST_DIGITS: Final = 38
"""The maximum precision of a decimal in Spark."""
_MOST_TYPES: Final = 10_000
"""Limit on the types that are read: if each of many levels used the next twice, there would be billions of copies."""
_LONGEST: Final = 80
_LEAVE_OUT: Final = "leave it out of conditions"


class Place(NamedTuple):
    """Where a type is read."""

    path: str
    """The dotted path of its field."""
    around: frozenset[tuple[str, str]] = frozenset()
    """The schema ids and names of the records around it."""
    is_inside: bool = False
    """Whether a list, map or union is around it: fields of such records are found by names only, not by aliases."""


class CommonTypes:
    """Finds types that read all versions of a schema."""

    def __init__(self, definitions: Mapping[str, Mapping[str, Any]]) -> None:
        """Takes the definition of each type by its full name, by schema id."""
        self._definitions = definitions
        self._count = 0

    def nullable(self, kinds: Kinds, place: Place) -> Any:
        """Returns a type that reads null and values of all `kinds`. Raises SetUpError if there is no such type."""
        kind = self._common(kinds, place)
        others = [branch for branch in (kind if isinstance(kind, list) else [kind]) if branch != "null"]
        # A field that is always null needs a type, too.
        return ["null", *(others or ["string"])]

    def defined(self, kinds: Kinds) -> Kinds:
        """Returns types with a definition in place of a name, also of a union."""
        return {schema_id: self._definition(schema_id, kind) for schema_id, kind in kinds.items()}

    def _definition(self, schema_id: str, kind: Any) -> Any:
        if isinstance(kind, list):
            return [self._definition(schema_id, branch) for branch in kind]
        return self._definitions[schema_id].get(kind, kind) if isinstance(kind, str) else kind

    def _common(self, kinds: Kinds, place: Place) -> Any:
        """Returns a type that reads values of all `kinds`."""
        kinds = self.defined(kinds)
        unions = {schema_id: kind if isinstance(kind, list) else [kind] for schema_id, kind in kinds.items()}
        others = {schema_id: [branch for branch in union if branch != "null"] for schema_id, union in unions.items()}
        counts = {len(union) for union in others.values()} - {0}
        if len(counts) > 1:
            raise _differ(kinds, place)
        count = max(counts, default=0)
        inside = place._replace(is_inside=place.is_inside or count > 1)
        branches = ({schema_id: union[at] for schema_id, union in others.items() if union} for at in range(count))
        read = [self._of_branch(of_versions, inside) for of_versions in branches]
        unnamed = [name for name in map(name_of, read) if name not in _NAMED]
        if len(unnamed) > len({*unnamed}):  # numbers that became equal
            raise _differ(kinds, place)
        is_nullable = any("null" in union for union in unions.values())
        if count == 1 and not is_nullable:
            return read[0]
        return ["null", *read] if is_nullable else read

    def _of_branch(self, kinds: Kinds, place: Place) -> Any:
        """Returns a type that reads values of all `kinds`, which are not unions."""
        schema_id, first = next(iter(kinds.items()))
        self._count += 1
        if self._count > _MOST_TYPES:
            raise SetUpError(f"schema {schema_id}: {place.path} has more than {_MOST_TYPES:,} parts: {_LEAVE_OUT}")
        name = {"name": f"t{self._count}"}
        names = {name_of(kind) for kind in kinds.values()}
        if len({_meaning(kind) for kind in kinds.values()}) > 1:
            raise _differ(kinds, place)
        if names == {"int", "long"}:
            return "long"
        if len(names) > 1 and names <= _NUMBERS:
            return "double"
        if len(names) > 1:
            raise _differ(kinds, place)
        if not isinstance(first, dict):
            return first
        return first | self._parts(kinds, place) | (name if first["type"] in _NAMED else {})

    def _parts(self, kinds: Kinds, place: Place) -> dict[str, Any]:
        """Returns the attributes of the type that reads all `kinds`, which have the same name."""
        first, *_ = kinds.values()
        match first["type"]:
            case "record":
                return {"fields": self._fields(kinds, place)}
            case "enum":
                return {"symbols": [*dict.fromkeys(symbol for kind in kinds.values() for symbol in kind["symbols"])]}
            case "array" | "map":
                part = "items" if first["type"] == "array" else "values"
                inside = {schema_id: kind[part] for schema_id, kind in kinds.items()}
                return {part: self._common(inside, place._replace(is_inside=True))}
        return _digits(kinds.values(), place) if first.get("logicalType") == "decimal" else {}

    def _fields(self, records: Kinds, place: Place) -> list[dict[str, Any]]:
        """Returns fields that read the fields of `records`; each is null if a version lacks it."""
        names = {(schema_id, record["name"]) for schema_id, record in records.items()}
        if again := sorted(names & place.around):
            raise SetUpError(
                f"schema {again[0][0]}: {place.path} contains itself, and Spark has no such type: leave the field out "
                "of conditions and of schemas.mapping"
            )
        fields = FieldNames(records).without_aliases() if place.is_inside else FieldNames(records).newest()
        if place.is_inside and len({name.lower() for name in fields}) < len(fields):
            raise SetUpError(
                f"{place.path} has fields that differ only in case, which Spark does not distinguish: {_LEAVE_OUT}"
            )
        require_distinct(fields)
        return [
            {
                "name": name,
                "type": self.nullable(
                    {of: records[of]["fields"][position]["type"] for of, position in positions.items()},
                    place._replace(path=f"{place.path}.{name}", around=place.around | names),
                ),
                "positions": positions,
            }
            for name, positions in fields.items()
        ]


def without_null(kind: Any) -> Any:
    """Returns the other type of a union with null; any other type unchanged."""
    others = [member for member in kind if member != "null"] if isinstance(kind, list) else []
    return others[0] if len(others) == 1 else kind


def name_of(kind: Any) -> str:
    """Returns the name of a type without its attributes."""
    if isinstance(kind, list):
        return "a union"
    return str(kind["type"] if isinstance(kind, dict) else kind)


def _meaning(kind: Any) -> tuple[Any, ...]:
    """Returns what the bytes of a type mean, apart from its name; precision may differ."""
    return (
        (kind.get("logicalType"), kind.get("scale", 0), kind.get("size")) if isinstance(kind, dict) else (None, 0, None)
    )


def _digits(kinds: Collection[Any], place: Place) -> dict[str, int]:
    """Returns the precision that reads decimals; a writer may exceed the precision of its schema."""
    if max(kind["precision"] for kind in kinds) > _MOST_DIGITS:
        raise SetUpError(
            f"{place.path} is a decimal of more than {_MOST_DIGITS} digits, which Spark cannot read: {_LEAVE_OUT}"
        )
    size = next(iter(kinds)).get("size")
    # Avro ignores a decimal of more digits than its bytes have.
    most = _MOST_DIGITS if size is None else floor(log10(2) * (8 * size - 1))
    return {"precision": min(most, _MOST_DIGITS)}


def _differ(kinds: Kinds, place: Place) -> SetUpError:
    found = " and ".join(dict.fromkeys(json.dumps(kind)[:_LONGEST] for kind in kinds.values()))
    return SetUpError(f"{place.path} is {found} in versions of the schema, and no type reads all of them: {_LEAVE_OUT}")
