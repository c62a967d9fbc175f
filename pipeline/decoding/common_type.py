"""The type that reads a field in all versions of a schema, and that Spark can read."""

import json
from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any, Final

from pipeline.decoding.alignment import AlignedField, Field
from pipeline.errors import SetUpError

_NUMBERS: Final = frozenset(["int", "long", "float", "double"])
_MOST_DIGITS: Final = 38
"""The maximum precision of a decimal in Spark."""
_LONGEST: Final = 80
_LEAVE_OUT: Final = "leave it out of conditions"


def nullable_field(field: AlignedField, kind: Any = None) -> Field:
    """Returns a field of a reader's schema that is null if a version lacks it; `kind` is its type, if it is known.

    Raises SetUpError if no type reads all versions.
    """
    kind = kind or _type_of(field)
    others = [branch for branch in (kind if isinstance(kind, list) else [kind]) if branch != "null"]
    # A field that is always null needs a type, too.
    return {"name": field.name, "type": ["null", *(others or ["string"])], "default": None}


def record_of(field: AlignedField, inner: Sequence[Field]) -> Field:
    """Returns a reader's record schema for `field`, with the fields `inner`."""
    return {"type": "record", "name": field.path, "fields": inner}


def _type_of(field: AlignedField) -> Any:
    if field.inner:
        # Several names may be one field.
        fields = {inner.name: inner for inner in field.inner.values()}
        return record_of(field, [nullable_field(inner) for inner in fields.values()])
    kinds = [kind for kind in field.types if kind is not None]
    return _common(kinds, field.path.partition(".")[2])


def _common(kinds: Sequence[Any], name: str) -> Any:
    """Returns a type that reads values of all `kinds`. Raises SetUpError, with `name`, if no type does."""
    unions = [kind if isinstance(kind, list) else [kind] for kind in kinds]
    branches = [[branch for branch in union if branch != "null"] for union in unions]
    branches = [union for union in branches if union]
    if len({len(union) for union in branches}) > 1:
        raise _differ(kinds, name)
    read = [_of_branch(of_versions, name) for of_versions in zip(*branches, strict=True)]
    unnamed = [name_of(kind) for kind in read if name_of(kind) not in ("record", "enum", "fixed")]
    if len(unnamed) > len({*unnamed}):  # numbers that became equal
        raise _differ(kinds, name)
    is_nullable = any("null" in union for union in unions)
    if len(read) == 1 and not is_nullable:
        return read[0]
    return ["null", *read] if is_nullable else read


def _of_branch(kinds: Sequence[Any], name: str) -> Any:
    """Returns a type that reads values of all `kinds`, which are not unions."""
    first, names = kinds[0], {name_of(kind) for kind in kinds}
    if len({_logical(kind) for kind in kinds}) > 1:
        raise _differ(kinds, name)
    if names == {"int", "long"}:
        return "long"
    if len(names) > 1 and names <= _NUMBERS:
        return "double"
    if len(names) > 1 or len({kind["size"] for kind in kinds if "fixed" in names}) > 1:
        raise _differ(kinds, name)
    return first | _parts(kinds, name) if isinstance(first, dict) else first


def _parts(kinds: Sequence[Any], name: str) -> dict[str, Any]:
    """Returns the attributes of the type that reads all `kinds`, which have the same name."""
    match kinds[0]["type"]:
        case "record":
            return {"fields": _fields(kinds, name)}
        case "enum":
            return {"symbols": [*dict.fromkeys(symbol for kind in kinds for symbol in kind["symbols"])]}
        case "array":
            return {"items": _common([kind["items"] for kind in kinds], name)}
        case "map":
            return {"values": _common([kind["values"] for kind in kinds], name)}
    return _digits(kinds, name) if kinds[0].get("logicalType") == "decimal" else {}


def name_of(kind: Any) -> str:
    """Returns the name of a type without its attributes."""
    if isinstance(kind, list):
        return "a union"
    return str(kind["type"] if isinstance(kind, dict) else kind)


def _fields(records: Sequence[Mapping[str, Any]], name: str) -> list[Field]:
    """Returns fields that read the fields of equal names in `records`, which are inside a list, map or union."""
    kinds: dict[str, list[Any]] = {}
    for field in (field for record in records for field in record["fields"]):
        kinds.setdefault(field["name"], []).append(field["type"])
    if len({field.lower() for field in kinds}) < len(kinds):
        raise SetUpError(f"{name} has fields that differ only in case, which Spark does not distinguish: {_LEAVE_OUT}")
    fields = [AlignedField(field, f"{name}.{field}", of_versions, {}) for field, of_versions in kinds.items()]
    return [nullable_field(field) for field in fields]


def _logical(kind: Any) -> tuple[Any, ...]:
    """Returns what a number means; precision may differ."""
    return (kind.get("logicalType"), kind.get("scale", 0)) if isinstance(kind, dict) else (None, 0)


def _digits(kinds: Sequence[Any], name: str) -> dict[str, int]:
    """Returns the precision that reads decimals; a writer may exceed the precision of its schema."""
    if max(kind["precision"] for kind in kinds) > _MOST_DIGITS:
        raise SetUpError(
            f"{name} is a decimal of more than {_MOST_DIGITS} digits, which Spark cannot read: {_LEAVE_OUT}"
        )
    size = kinds[0].get("size")
    # Avro ignores a decimal of more digits than its bytes have.
    most = _MOST_DIGITS if size is None else floor(log10(2) * (8 * size - 1))
    return {"precision": min(most, _MOST_DIGITS)}


def _differ(kinds: Sequence[Any], name: str) -> SetUpError:
    found = " and ".join(dict.fromkeys(json.dumps(kind)[:_LONGEST] for kind in kinds))
    return SetUpError(f"{name} is {found} in versions of the schema, and no type reads all of them: {_LEAVE_OUT}")
