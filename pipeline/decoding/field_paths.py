"""Dotted paths to fields of Avro events: along records, and then inside of a text, map, or list of keys and values."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.pipeline.decoding.alignment import AlignedField, Alignment, Needs
from tidemark.pipeline.decoding.common_type import name_of, without_null
from tidemark.pipeline.errors import SetUpError

_KEY: Final = "key"
_VALUE: Final = "value"


def aligned_along(
    texts: Mapping[int, str], paths: Collection[str], words: Collection[str] = ()
) -> tuple[Alignment, dict[str, int]]:
    """Returns the alignment of fields with dotted `paths`, and how many names of each path lead along records.

    Names after those are inside of a text, map or list, which is read as a whole.
    """
    aligned = Alignment(texts, _needs(path.split(".") for path in paths), words)
    outside = {path: _outside(path.split("."), aligned.fields) for path in paths}
    if any(count <= path.count(".") for path, count in outside.items()):
        aligned = Alignment(texts, _needs(path.split(".")[:count] for path, count in outside.items()), words)
    return aligned, outside


def along(names: Sequence[str], fields: Mapping[str, AlignedField]) -> Iterator[AlignedField]:
    """Yields the field of each of the needed `names`, each inside the field before."""
    for name in names:
        yield fields[name]
        fields = fields[name].inner


def missing_in(names: Sequence[str], aligned: Alignment) -> dict[str, str]:
    """Returns by schema id the part of a path at which a schema ends, for schemas that lack the field."""
    missing = dict[str, str]()
    for depth, field in enumerate(along(names, aligned.fields), 1):
        for schema_id in aligned.writers:
            if schema_id not in field.kinds:
                missing.setdefault(schema_id, ".".join(names[:depth]))
    return missing


def type_inside(kind: Any, names: Sequence[str], setting: str) -> Any:
    """Returns the type of a field inside of a value of the type `kind`; text for a field of JSON in a text.

    Raises SetUpError, which begins with `setting`, if no path leads to it.
    """
    kind = without_null(kind)
    if not names:
        return kind
    if kind == "string":
        return "string"
    if name_of(kind) == "map":
        return type_inside(kind["values"], names[1:], setting)
    is_list = name_of(kind) == "array"
    fields = _fields_of(kind["items"] if is_list else kind)
    name, *others = (_VALUE, *names[1:]) if is_list else names
    if name not in fields or (is_list and without_null(fields.get(_KEY)) != "string"):
        what = "a list without key and value" if is_list else name_of(kind)
        raise SetUpError(f"{setting}, but {names[0]} cannot be found in {what}")
    return type_inside(fields[name], others, setting)


def column_inside(column: Column, kind: Any, names: Sequence[str]) -> Column:
    """Returns a field inside of a `column` of the type `kind`; null where it is missing."""
    kind = without_null(kind)
    if not names:
        return column
    if kind == "string":
        steps = (f"[{name}]" if name.isdecimal() else f"['{name}']" for name in names)
        return F.get_json_object(column, f"${''.join(steps)}")
    name, *others = names
    if name_of(kind) == "map":
        return column_inside(F.try_element_at(column, F.lit(name)), kind["values"], others)
    if name_of(kind) == "array":
        of_key = F.filter(column, lambda item: item[_KEY] == name)
        column, kind, name = F.try_element_at(of_key, F.lit(-1)), kind["items"], _VALUE
    return column_inside(column[name], _fields_of(kind)[name], others)


def _fields_of(kind: Any) -> dict[str, Any]:
    """Returns the types of the fields of a record; nothing for another type."""
    record = without_null(kind)
    return {field["name"]: field["type"] for field in record["fields"]} if name_of(record) == "record" else {}


def _outside(names: Sequence[str], fields: Mapping[str, AlignedField]) -> int:
    """Returns how many of the names lead along records, before a text, map or list in all versions that have it."""
    for count, field in enumerate(along(names, fields), 1):
        kinds = {name_of(without_null(kind)) for kind in field.kinds.values()}
        if kinds in ({"string"}, {"array"}, {"map"}):
            return count
    return len(names)


def _needs(paths: Iterable[Sequence[str]]) -> Needs:
    """Returns the fields with `paths` as a tree."""
    needs: Needs = {}
    for path in paths:
        inner = needs
        for name in path:
            inner = inner.setdefault(name, {})
    return needs
