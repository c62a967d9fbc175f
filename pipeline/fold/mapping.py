"""Events of a foreign schema: the fields that are read, and how they become user, time, kind and page."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from fastavro.schema import expand_schema
from pyspark.sql import Column
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.errors import SetUpError
from pipeline.fold.projection import UNKNOWN_TYPE, Field, mentioned, resolved, skipped_texts, types_by_name
from schemas.fields import VISIT, EventFields, EventSchemas, TimeUnit

_WHOLE: Final = {"int", "long"}
_PER_UNIT: Final = {"us": 1_000, "ns": 1_000_000}
_UNITS: Final[Sequence[tuple[str, TimeUnit]]] = (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
_UNIT_OF: Final[Mapping[str, TimeUnit]] = {
    f"{local}timestamp-{name}": unit for local in ("", "local-") for name, unit in _UNITS
}
"""The time unit by Avro logical type; a local timestamp is taken as UTC."""
_NO_INSTANTS: Final = frozenset(["date", "time-millis", "time-micros"])
"""Logical types of numbers that are no instants."""
_HAS_DATE: Final = r"^\s*\d{4}-\d{2}-\d{2}"
"""Spark would place a time of day on the day on which it is read."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A field of an event."""

    path: tuple[str, ...]
    """The names of the records around the field, and its own."""
    type: Any
    """The type in the reader's schema."""
    written: Sequence[Any]
    """The type in each writer's schema."""

    def of(self, event: str) -> Column:
        """Returns the field of the decoded struct in the column `event`."""
        return F.col(".".join([event, *(f"`{name}`" for name in self.path)]))


class MappedReader:
    """Reads events whose fields have other names, types and paths than Tidemark's own."""

    def __init__(self, schemas: EventSchemas, sql: str) -> None:
        """Reads user, time, kind and the fields that `sql` names. Raises SetUpError if a field does not fit."""
        self._fields = schemas.fields
        expanded: dict[int, Any] = {key: expand_schema(json.loads(text)) for key, text in schemas.texts.items()}
        texts = [json.dumps(schema) for schema in expanded.values()]
        self._leaves = {role: _leaf(role, path, expanded) for role, path in _paths(self._fields, sql)}
        self._time_unit = _unit(self._leaves["time"], self._fields.time_unit)
        tops = {leaf.path[0] for leaf in self._leaves.values()}
        ours = {c.USER_ID, c.EVENT_TIME, c.EVENT_TYPE, c.PAGE_URL, *({c.EVENT_ID} & self._leaves.keys())}
        self._further = mentioned(sql, texts, tops | ours)
        needed = [*tops, *(field["name"] for field in self._further)]
        self._unmapped = [*self._further, *skipped_texts(texts, needed)]
        self.projections = {schema_id: self._projection(schema) for schema_id, schema in expanded.items()}

    @property
    def names(self) -> list[str]:
        """Returns the names of `columns`."""
        page = [c.PAGE_URL] if "page" in self._leaves else []
        return [c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME, *page, *(field["name"] for field in self._further)]

    def columns(self, event: str) -> list[Column]:
        """Returns event type, user, time and further fields of the decoded struct; all null if nothing was decoded."""
        raw = {role: leaf.of(event) for role, leaf in self._leaves.items()}
        is_read = reduce(or_, (column.isNotNull() for column in raw.values()))
        own = {
            c.EVENT_TYPE: self._kind(raw.get("kind")),
            c.USER_ID: F.coalesce(raw["user"].cast("string"), F.lit("")),
            # A missing time counts as out of range.
            c.EVENT_TIME: F.coalesce(self._time(raw["time"]), F.lit(0)),
        }
        columns = [F.when(is_read, value).alias(name) for name, value in own.items()]
        if "page" in raw:
            columns.append(raw["page"].alias(c.PAGE_URL))
        if c.EVENT_ID in raw:
            columns.append(raw[c.EVENT_ID].alias(c.EVENT_ID))
        return [*columns, *(F.col(f"{event}.{field['name']}") for field in self._further)]

    def _kind(self, raw: Column | None) -> Column:
        if raw is None:
            return F.lit(VISIT)
        cases: Any = F
        for kind in sorted({*self._fields.kinds.values()}):
            values = [value for value, meaning in self._fields.kinds.items() if meaning == kind]
            cases = cases.when(raw.isin(values), F.lit(kind))
        event_type: Column = cases.otherwise(F.lit(UNKNOWN_TYPE))
        return event_type

    def _time(self, raw: Column) -> Column:
        """Returns milliseconds, null if the value is no time; never an error, because the values are foreign."""
        unit = self._time_unit
        if unit == "iso":
            return F.when(raw.rlike(_HAS_DATE), F.unix_millis(F.try_to_timestamp(raw)))
        if unit == "s":
            return F.try_multiply(raw, F.lit(1000)).try_cast("long")
        count = raw.try_cast("long")
        return F.call_function("div", count, F.lit(_PER_UNIT[unit])) if unit in _PER_UNIT else count

    def _projection(self, writer: Mapping[str, Any]) -> str:
        paths: dict[str, Any] = {}
        for leaf in self._leaves.values():
            inner = paths
            for name in leaf.path[:-1]:
                inner = inner.setdefault(name, {})
            inner[leaf.path[-1]] = leaf
        fields = [*_fields_of(writer, paths), *(resolved(field, writer) for field in self._unmapped)]
        return json.dumps({**writer, "fields": fields})


def _paths(fields: EventFields, sql: str) -> Iterator[tuple[str, str]]:
    """Yields the role and the dotted path of each mapped field that is needed."""
    yield "user", fields.user
    yield "time", fields.time
    if fields.kind:
        yield "kind", fields.kind
    if c.PAGE_URL in re.findall(r"\w+", sql):
        yield "page", fields.page
    # A field `event_id` is not mapped: not every schema needs it.
    if fields.event_id != c.EVENT_ID and c.EVENT_ID in re.findall(r"\w+", sql):
        yield c.EVENT_ID, fields.event_id


def _leaf(role: str, name: str, schemas: Mapping[int, Any]) -> _Leaf:
    """Returns the field with the dotted path `name`. Raises SetUpError if a schema lacks it or has an unfit type."""
    path = tuple(name.split("."))
    written = [_written(role, path, schema_id, schema) for schema_id, schema in schemas.items()]
    return _Leaf(path, _read_as(role, name, written), written)


def _written(role: str, path: Sequence[str], schema_id: int, schema: Mapping[str, Any]) -> Any:
    """Returns the type, without null, of the field at `path` in a writer's schema."""
    kind: Any = schema
    for depth, name in enumerate(path, 1):
        fields = types_by_name(kind) if isinstance(kind, dict) and kind.get("type") == "record" else {}
        if name not in fields:
            raise SetUpError(
                f"schemas.mapping.{role} is {'.'.join(path)}, but schema {schema_id} has no field "
                f"{'.'.join(path[:depth])}"
            )
        kind = _without_null(fields[name])
    return kind


def _read_as(role: str, name: str, written: Sequence[Any]) -> Any:
    """Returns the type that can read all types in `written`. Raises SetUpError if `role` has no such type."""
    names = {_name(kind) for kind in written}
    if role == "kind" and names == {"enum"}:
        symbols = sorted({symbol for kind in written for symbol in kind["symbols"]} - {UNKNOWN_TYPE})
        return {"type": "enum", "symbols": [*symbols, UNKNOWN_TYPE], "default": UNKNOWN_TYPE}
    if names == {"string"}:
        return "string"
    if role in ("user", "time", c.EVENT_ID) and names <= _WHOLE:
        return "long"
    if role == "time" and names <= {*_WHOLE, "float", "double"}:
        return "double"
    may_be = {"time": "a number or text", "kind": "an enum or text", "page": "text"}
    may_be |= dict.fromkeys(("user", c.EVENT_ID), "text or a whole number")
    raise SetUpError(f"schemas.mapping.{role} is {name}, which is {' and '.join(sorted(names))}, not {may_be[role]}")


def _fields_of(writer: Mapping[str, Any], paths: Mapping[str, Any]) -> list[Field]:
    """Returns a record's fields in the reader's schema, all nullable; nested `paths` map names to leaves or paths."""
    fields = []
    for name, inner in paths.items():
        written = types_by_name(writer)[name]
        kind = inner.type if isinstance(inner, _Leaf) else None
        if kind is None:
            record = _without_null(written)
            kind = {**record, "fields": _fields_of(record, inner)}
        elif isinstance(kind, dict):
            kind = {**_without_null(written), **kind}
        fields.append(resolved({"name": name, "type": ["null", kind], "default": None}, writer))
    return fields


def _without_null(kind: Any) -> Any:
    """Returns the other type of a union with null; any other type unchanged."""
    others = [member for member in kind if member != "null"] if isinstance(kind, list) else []
    return others[0] if len(others) == 1 else kind


def _name(kind: Any) -> str:
    if isinstance(kind, list):
        return "a union"
    return str(kind["type"] if isinstance(kind, dict) else kind)


def _unit(time: _Leaf, configured: TimeUnit | None) -> TimeUnit:
    """Returns the unit of a time: the configured one, else that of the schemas.

    Raises SetUpError if the schemas differ, or the field is no instant.
    """
    name = ".".join(time.path)
    logical = {kind.get("logicalType", "") if isinstance(kind, dict) else "" for kind in time.written}
    if wrong := sorted(logical & _NO_INSTANTS):
        raise SetUpError(
            f"schemas.mapping.time is {name}, which is an Avro {wrong[0]}: it is no instant, name a timestamp"
        )
    if time.type == "string":
        return configured or "iso"
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
