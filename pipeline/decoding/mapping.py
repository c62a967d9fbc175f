"""Events of a foreign schema: the fields that are read, and how they become user, time, kind and page."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.alignment import AlignedField, Alignment, DecodedColumn
from tidemark.pipeline.decoding.common_type import name_of, without_null
from tidemark.pipeline.decoding.event_columns import (
    base_of,
    event_type_column,
    is_user,
    iso_millis,
    kind_column,
    kind_roles,
    needed_columns,
    user_column,
    user_roles,
)
from tidemark.pipeline.decoding.field_paths import aligned_along, along, column_inside, missing_in, type_inside
from tidemark.pipeline.decoding.projection import UNKNOWN_TYPE, decoded_column
from tidemark.pipeline.decoding.sql_words import words_of
from tidemark.pipeline.errors import SetUpError
from tidemark.schemas.fields import EventFields, EventSchemas, TimeUnit

_IS_READ: Final[DecodedColumn] = {"name": "is read", "type": "boolean", "positions": {}}
"""A column that no version has: the connector makes it true where a record was read. No field of Avro has its name."""
_WHOLE: Final = {"int", "long"}
_PER_UNIT: Final = {"us": 1_000, "ns": 1_000_000}
_UNITS: Final[Sequence[tuple[str, TimeUnit]]] = (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
_UNIT_OF: Final[Mapping[str, TimeUnit]] = {
    f"{local}timestamp-{name}": unit for local in ("", "local-") for name, unit in _UNITS
}
"""The time unit by Avro logical type; a local timestamp is taken as UTC."""
_NO_INSTANTS: Final = frozenset(["date", "time-millis", "time-micros"])
"""Logical types of numbers that are not instants."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A mapped field of an event."""

    name: str
    """Its dotted path in the settings."""
    field: AlignedField
    """The field that is decoded."""
    read: Any
    """The type as which it is decoded."""
    inside: Sequence[str]
    """The names inside of the decoded text or list."""
    type: Any
    """The type of the mapped field itself."""
    written: Sequence[Any]
    """The type in each writer's schema."""

    @property
    def column(self) -> Column:
        """The mapped field."""
        return column_inside(decoded_column(self.field.path), self.read, self.inside)


class MappedProjection:
    """Reads events whose fields have other names, types and paths than Tidemark's own."""

    def __init__(self, schemas: EventSchemas, sql: str, inner: Collection[str] = ()) -> None:
        """Reads user, time, kind, the fields that `sql` names, and those at the dotted paths `inner`.

        Raises SetUpError if a field does not fit.
        """
        self._mapping = schemas.fields
        words = words_of(sql)
        paths = dict(_paths(self._mapping, words))
        mapped = {c.USER_ID, c.EVENT_TIME, c.EVENT_TYPE, c.PAGE_URL, *({c.EVENT_ID} & paths.keys())}
        aligned, outside = aligned_along(schemas.texts, [*paths.values(), *inner], words - mapped)
        self._leaves = _leaves(paths, aligned, outside)
        self._time_unit = _unit(self._leaves["time"], self._mapping.time_unit)
        # A text or list that has mapped fields inside is read as a whole, so SQL may name it, too.
        whole = {path.partition(".")[0] for path, count in outside.items() if "." in path and count == 1}
        further = sorted({*aligned.named, *(words & whole & aligned.fields.keys())})
        self._further = {name: aligned.fields[name].path for name in further}
        columns = {leaf.field.path: leaf.field.decoded_as(leaf.read) for leaf in self._leaves.values()}
        for name, path in self._further.items():
            if path not in columns:
                columns[path] = aligned.fields[name].decoded_as(aligned.type_of(aligned.fields[name]))
        self._inner = {path: _inner_leaf(path, aligned, outside[path]) for path in inner}
        """None for a path that no schema has."""
        for leaf in filter(None, self._inner.values()):
            columns.setdefault(leaf.field.path, leaf.field.decoded_as(leaf.read))
        self.plan = aligned.plan([_IS_READ, *columns.values()])
        """How the connector decodes the fields."""

    @property
    def names(self) -> list[str]:
        """Returns the names of `columns`."""
        page = [c.PAGE_URL] if "page" in self._leaves else []
        event_id = [c.EVENT_ID] if c.EVENT_ID in self._leaves else []
        return [c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME, *page, *event_id, *self._further, *self._inner]

    @property
    def missing(self) -> set[str]:
        """Returns the paths that no schema has."""
        return {path for path, leaf in self._inner.items() if leaf is None}

    def columns(self) -> Sequence[Column]:
        """Returns event type, user, time and further decoded fields; all null if nothing was decoded."""
        raw = {role: leaf.column for role, leaf in self._leaves.items()}
        is_read = decoded_column((_IS_READ["name"],))
        event_type = event_type_column(self._mapping, kind_column(raw))
        columns = needed_columns(is_read, event_type, user_column(raw), self._time(raw["time"]))
        if "page" in raw:
            columns.append(raw["page"].alias(c.PAGE_URL))
        if c.EVENT_ID in raw:
            columns.append(raw[c.EVENT_ID].alias(c.EVENT_ID))
        further = (decoded_column(path).alias(name) for name, path in self._further.items())
        null = F.lit(None).cast("string")
        inner = ((leaf.column if leaf else null).alias(path) for path, leaf in self._inner.items())
        return [*columns, *further, *inner]

    def same_as_user(self) -> set[str]:
        """Returns the other names that the user has in a version."""
        users = {leaf.field.path[:1] for role, leaf in self._leaves.items() if is_user(role)}
        inner = {path for path, leaf in self._inner.items() if leaf and leaf.field.path[:1] in users}
        return {name for name, path in self._further.items() if path in users} | inner

    def _time(self, raw: Column) -> Column:
        """Returns milliseconds, null if the value is not a time; never an error, because the values are foreign."""
        unit = self._time_unit
        if unit is None:
            return F.coalesce(_number(raw).try_cast("long"), iso_millis(raw))
        if unit == "iso":
            return iso_millis(raw)
        if self._leaves["time"].type == "string":
            raw = _number(raw)
        if unit == "s":
            return F.try_multiply(raw, F.lit(1000)).try_cast("long")
        count = raw.try_cast("long")
        return F.call_function("div", count, F.lit(_PER_UNIT[unit])) if unit in _PER_UNIT else count


def has_page(schemas: EventSchemas) -> bool:
    """Whether every version has the page, as text; JSON has no schema that excludes it.

    Only a report that has it as a key needs it.
    """
    if schemas.format == "json":
        return True
    page = schemas.fields.page
    aligned, outside = aligned_along(schemas.texts, [page])
    try:
        _leaf("page", page, aligned, outside[page])
    except SetUpError:
        return False
    return not missing_in(page.split(".")[: outside[page]], aligned)


def _paths(fields: EventFields, words: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yields the role and the dotted path of each mapped field that is needed."""
    yield from user_roles(fields).items()
    yield "time", fields.time
    yield from kind_roles(fields).items()
    if c.PAGE_URL in words:
        yield "page", fields.page
    # A field `event_id` is not mapped: not every schema needs it.
    if fields.event_id != c.EVENT_ID and c.EVENT_ID in words:
        yield c.EVENT_ID, fields.event_id


def _leaves(paths: Mapping[str, str], aligned: Alignment, outside: Mapping[str, int]) -> dict[str, _Leaf]:
    """Returns the fields by their roles.

    Raises SetUpError if a schema lacks a field, or all fields that may have the user or the kind.
    """
    missing = {role: missing_in(path.split(".")[: outside[path]], aligned) for role, path in paths.items()}
    for role in paths:
        alike = [other for other in paths if base_of(other) == base_of(role)]
        name = ",".join(paths[other] for other in alike)
        for schema_id in sorted(set.intersection(*(set(missing[other]) for other in alike))):
            field = missing[role][schema_id]
            raise SetUpError(f"schemas.mapping.{base_of(role)} is {name}, but schema {schema_id} has no field {field}")
    never = {role for role, found in missing.items() if len(found) == len(aligned.writers)}
    return {
        role: _leaf(base_of(role), path, aligned, outside[path]) for role, path in paths.items() if role not in never
    }


def _leaf(role: str, name: str, aligned: Alignment, outside: int) -> _Leaf:
    """Returns the field with the dotted path `name`. Raises SetUpError if it has an unfit type."""
    names = name.split(".")
    *_, field = along(names[:outside], aligned.fields)
    if inside := names[outside:]:
        read = aligned.type_of(field)
        written = [type_inside(read, inside, f"schemas.mapping.{role} is {name}")]
        return _Leaf(name, field, read, inside, _read_as(role, name, written), written)
    written = [without_null(kind) for kind in field.kinds.values()]
    kind = _read_as(role, name, written)
    return _Leaf(name, field, kind, (), kind, written)


def _inner_leaf(name: str, aligned: Alignment, outside: int) -> _Leaf | None:
    """Returns the field with the dotted path `name`, of any type; None if no schema has it. Raises SetUpError."""
    names = name.split(".")
    if len(missing_in(names[:outside], aligned)) == len(aligned.writers):
        return None
    *_, field = along(names[:outside], aligned.fields)
    read, inside = aligned.type_of(field), names[outside:]
    kind = type_inside(read, inside, f"a dimension or measure has the path {name}")
    return _Leaf(name, field, read, inside, kind, ())


def _read_as(role: str, name: str, written: Sequence[Any]) -> Any:
    """Returns the type that can read all types in `written`. Raises SetUpError if no type that `role` may have can."""
    names = {name_of(kind) for kind in written}
    if role == "kind" and names == {"enum"}:
        symbols = sorted({symbol for kind in written for symbol in kind["symbols"]} - {UNKNOWN_TYPE})
        return {"type": "enum", "name": "kind", "symbols": [*symbols, UNKNOWN_TYPE], "default": UNKNOWN_TYPE}
    if names == {"string"}:
        return "string"
    if role in ("user", "time", c.EVENT_ID) and names <= _WHOLE:
        return "long"
    if role == "time" and names <= {*_WHOLE, "float", "double"}:
        return "double"
    may_be = {"time": "a number or text", "kind": "an enum or text", "page": "text"}
    may_be |= dict.fromkeys(("user", c.EVENT_ID), "text or a whole number")
    raise SetUpError(f"schemas.mapping.{role} is {name}, which is {' and '.join(sorted(names))}, not {may_be[role]}")


def _number(text: Column) -> Column:
    return text.try_cast("decimal(38, 9)")


def _unit(time: _Leaf, configured: TimeUnit | None) -> TimeUnit | None:
    """Returns the unit of a time: the configured one, else that of the schemas; None if a text may be a number.

    Raises SetUpError if the schemas differ, or the field is not an instant.
    """
    name = time.name
    logical = {kind.get("logicalType", "") if isinstance(kind, dict) else "" for kind in time.written}
    if wrong := sorted(logical & _NO_INSTANTS):
        raise SetUpError(
            f"schemas.mapping.time is {name}, which is an Avro {wrong[0]}: it is no instant, name a timestamp"
        )
    if time.type == "string":
        return configured or (None if time.inside else "iso")
    if configured == "iso":
        raise SetUpError(
            f"schemas.mapping.time_unit is iso, but {name} is a number: set s, ms, us or ns, as the producer writes it"
        )
    units: set[TimeUnit] = {_UNIT_OF.get(one, "ms") for one in logical}
    if configured is None and len(units) > 1:
        raise SetUpError(
            f"the schemas have {name} in {' and '.join(sorted(units))}: no version of a schema can change the unit of "
            "a time"
        )
    return configured or units.pop()
