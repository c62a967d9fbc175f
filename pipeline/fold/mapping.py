"""Events of a schema that is not ours: what is read of them, and how it becomes user, time, kind and page."""

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
from pipeline.fold.projection import UNKNOWN_TYPE, Field, mentioned, passed_over, resolved, types_by_name
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
    """A field by the names on the way to it, its reader's type, and what the writers' schemas have it for."""

    path: tuple[str, ...]
    type: Any
    written: Sequence[Any]

    def of(self, event: str) -> Column:
        """It in the struct of a decoded event."""
        return F.col(".".join([event, *(f"`{name}`" for name in self.path)]))


class MappedReader:
    """How events are read whose fields have other names, types and places than ours."""

    def __init__(self, schemas: EventSchemas, sql: str) -> None:
        """`sql` names what is needed beside user, time and kind. Raises SetUpError where the fields do not fit."""
        self._fields = schemas.fields
        expanded: dict[int, Any] = {number: expand_schema(json.loads(text)) for number, text in schemas.texts.items()}
        texts = [json.dumps(one) for one in expanded.values()]
        self._leaves = {role: _leaf(role, path, expanded) for role, path in _paths(self._fields, sql)}
        tops = {leaf.path[0] for leaf in self._leaves.values()}
        ours = {c.USER_ID, c.EVENT_TIME, c.EVENT_TYPE, c.PAGE_URL, *({c.EVENT_ID} & self._leaves.keys())}
        self._further = mentioned(sql, texts, tops | ours)
        needed = [*tops, *(field["name"] for field in self._further)]
        self._beside = [*self._further, *passed_over(texts, needed)]
        self.projections = {number: self._projection(one) for number, one in expanded.items()}

    @property
    def names(self) -> list[str]:
        """Those of `columns`."""
        page = [c.PAGE_URL] if "page" in self._leaves else []
        return [c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME, *page, *(field["name"] for field in self._further)]

    def columns(self, event: str) -> list[Column]:
        """Event type, user, time and what else is needed, of the decoded struct; all null where nothing was read."""
        raw = {role: leaf.of(event) for role, leaf in self._leaves.items()}
        is_read = reduce(or_, (one.isNotNull() for one in raw.values()))
        told = {
            c.EVENT_TYPE: self._kind(raw.get("kind")),
            c.USER_ID: F.coalesce(raw["user"].cast("string"), F.lit("")),
            # No time at all is one that is out of range.
            c.EVENT_TIME: F.coalesce(self._time(raw["time"]), F.lit(0)),
        }
        columns = [F.when(is_read, value).alias(name) for name, value in told.items()]
        if "page" in raw:
            columns.append(raw["page"].alias(c.PAGE_URL))
        if c.EVENT_ID in raw:
            columns.append(raw[c.EVENT_ID].alias(c.EVENT_ID))
        return [*columns, *(F.col(f"{event}.{field['name']}") for field in self._further)]

    def _kind(self, raw: Column | None) -> Column:
        if raw is None:
            return F.lit(VISIT)
        cases: Any = F
        for stands_for in sorted({*self._fields.kinds.values()}):
            values = [value for value, one in self._fields.kinds.items() if one == stands_for]
            cases = cases.when(raw.isin(values), F.lit(stands_for))
        found: Column = cases.otherwise(F.lit(UNKNOWN_TYPE))
        return found

    def _time(self, raw: Column) -> Column:
        """Milliseconds; null for what none can be made of, and never an error: the bytes are somebody else's."""
        unit = _unit(self._leaves["time"], self._fields.time_unit)
        if unit == "iso":
            return F.when(raw.rlike(_HAS_DATE), F.unix_millis(F.try_to_timestamp(raw)))
        if unit == "s":
            return F.try_multiply(raw, F.lit(1000)).try_cast("long")
        number = raw.try_cast("long")
        return F.call_function("div", number, F.lit(_PER_UNIT[unit])) if unit in _PER_UNIT else number

    def _projection(self, writer: Mapping[str, Any]) -> str:
        paths: dict[str, Any] = {}
        for leaf in self._leaves.values():
            below = paths
            for name in leaf.path[:-1]:
                below = below.setdefault(name, {})
            below[leaf.path[-1]] = leaf
        fields = [*_fields_of(writer, paths), *(resolved(field, writer) for field in self._beside)]
        return json.dumps({**writer, "fields": fields})


def _paths(fields: EventFields, sql: str) -> Iterator[tuple[str, str]]:
    yield "user", fields.user
    yield "time", fields.time
    if fields.kind:
        yield "kind", fields.kind
    if c.PAGE_URL in re.findall(r"\w+", sql):
        yield "page", fields.page
    # Under its own name it is one of the further fields, which not every schema need have.
    if fields.event_id != c.EVENT_ID and c.EVENT_ID in re.findall(r"\w+", sql):
        yield c.EVENT_ID, fields.event_id


def _leaf(role: str, name: str, schemas: Mapping[int, Any]) -> _Leaf:
    """A field as all schemas have it. Raises SetUpError where one does not, or has it as something else."""
    path = tuple(name.split("."))
    written = [_written(role, path, number, schema) for number, schema in schemas.items()]
    return _Leaf(path, _read_as(role, name, written), written)


def _written(role: str, path: Sequence[str], number: int, schema: Mapping[str, Any]) -> Any:
    kind: Any = schema
    for place, name in enumerate(path, 1):
        fields = types_by_name(kind) if isinstance(kind, dict) and kind.get("type") == "record" else {}
        if name not in fields:
            raise SetUpError(
                f"schemas.mapping.{role} is {'.'.join(path)}, but schema {number} has no field {'.'.join(path[:place])}"
            )
        kind = _without_null(fields[name])
    return kind


def _read_as(role: str, name: str, written: Sequence[Any]) -> Any:
    """The type by which every version can be read."""
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
    """The fields of a writer's record that lie on the paths, each of which may be null."""
    fields = []
    for name, below in paths.items():
        written = types_by_name(writer)[name]
        kind = below.type if isinstance(below, _Leaf) else None
        if kind is None:
            record = _without_null(written)
            kind = {**record, "fields": _fields_of(record, below)}
        elif isinstance(kind, dict):
            kind = {**_without_null(written), **kind}
        fields.append(resolved({"name": name, "type": ["null", kind], "default": None}, writer))
    return fields


def _without_null(kind: Any) -> Any:
    """The one type of a union with null."""
    others = [one for one in kind if one != "null"] if isinstance(kind, list) else []
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
