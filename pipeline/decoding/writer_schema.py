"""Writer schemas in a normal form: validated once, without attributes that Avro ignores.

Other producers' schemas carry attributes of their tools (`avro.java.string`, `connect.name`, `doc`) and spell a type in
several ways (`"string"`, `{"type": "string"}`). In the normal form equal types are equal values. Defaults and names do
not change the bytes of a value, so they may be anything: Avro's libraries differ in what they refuse.
Source: Apache Avro 1.12, "Specification".
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from fastavro.schema import SchemaParseException, UnknownType, parse_schema

from tidemark.pipeline.errors import SetUpError

_PRIMITIVES: Final = frozenset(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
_FOREIGN: Final = re.compile(r"\W", re.ASCII)
_OF_PRIMITIVES: Final = ("type", "logicalType", "precision", "scale")
_RELEVANT: Final = (*_OF_PRIMITIVES, "name", "namespace", "symbols", "size")
"""Attributes by which values are read."""
_LARGEST_SIZE: Final = 2**31
_LOGICAL_OF: Final = {
    "io.debezium.time.Date": "date",
    "io.debezium.time.Time": "time-millis",
    "io.debezium.time.MicroTime": "time-micros",
    "io.debezium.time.Timestamp": "timestamp-millis",
    "io.debezium.time.MicroTimestamp": "timestamp-micros",
    "io.debezium.time.NanoTimestamp": "timestamp-nanos",
    "org.apache.kafka.connect.data.Date": "date",
    "org.apache.kafka.connect.data.Time": "time-millis",
    "org.apache.kafka.connect.data.Timestamp": "timestamp-millis",
}
"""The logical type that `connect.name` means: Kafka Connect and Debezium write it instead of Avro's own."""


def normal_schema(schema_id: int, text: str) -> str:
    """Returns the normal form of a writer schema, as JSON text.

    Raises SetUpError, in one sentence with `schema_id`, if it is not a record that Avro accepts.
    """
    try:
        schema = json.loads(text)
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise SetUpError(f"schema {schema_id} is {_kind(schema)}, but an event must be an Avro record")
        normal = _normal(schema)
        _require_valid(normal)
    except (SchemaParseException, UnknownType) as error:
        reason = f"unknown type {error}" if isinstance(error, UnknownType) else str(error)
        raise SetUpError(f"schema {schema_id} is not valid Avro: {reason[:200]}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise SetUpError(f"schema {schema_id} is not valid Avro: {str(error)[:200] or 'nested too deeply'}") from error
    return json.dumps(normal)


def _require_valid(schema: Any) -> None:
    """Raises an error of fastavro, or ValueError if only Avro's Java library refuses the schema."""
    definitions: dict[str, Any] = {}
    parse_schema(schema, definitions)
    if taken := sorted(definitions.keys() & _PRIMITIVES):
        raise ValueError(f"{taken[0]} is the name of one of Avro's own types")


def _normal(schema: Any) -> Any:
    if isinstance(schema, list):
        return _union([_normal(branch) for branch in schema])
    if isinstance(schema, str):
        return schema if schema in _PRIMITIVES else _normal_name(schema)
    if not isinstance(schema, dict) or "type" not in schema:
        raise ValueError(f"{json.dumps(schema)[:80]} is no type")
    if not isinstance(schema["type"], str):  # a type inside a type
        return _normal(schema["type"])
    return _normal_of(schema["type"], schema)


def _union(branches: list[Any]) -> list[Any]:
    """Returns a union. Raises ValueError if Avro's Java library refuses it."""
    names = [branch["type"] if isinstance(branch, dict) and "name" not in branch else branch for branch in branches]
    if not branches or any(isinstance(branch, list) for branch in branches) or any(names.count(x) > 1 for x in names):
        raise ValueError(f"{json.dumps(branches)[:80]} is no union: it needs types of different names, and no unions")
    return branches


def _normal_of(kind: str, schema: Mapping[str, Any]) -> Any:
    """Returns the normal form of an object with this `type`."""
    match kind:
        case "record" | "error":
            return {**_relevant(schema), "type": "record", "fields": _fields(schema["fields"])}
        case "array":
            return {"type": kind, "items": _normal(schema["items"])}
        case "map":
            return {"type": kind, "values": _normal(schema["values"])}
        case "enum":
            return _relevant(schema)
        case "fixed":
            return _fixed(_relevant(schema))
    relevant = {name: value for name, value in _relevant(schema).items() if name in _OF_PRIMITIVES}
    return relevant if "logicalType" in relevant else _normal(kind)


def _relevant(schema: Mapping[str, Any]) -> dict[str, Any]:
    relevant = {name: schema[name] for name in _RELEVANT if name in schema}
    if not _is_valid_logical(relevant):
        relevant = {
            name: value for name, value in relevant.items() if name not in ("logicalType", "precision", "scale")
        }
    if logical := _LOGICAL_OF.get(str(schema.get("connect.name"))):
        relevant.setdefault("logicalType", logical)
    return relevant | {name: _normal_name(relevant[name]) for name in ("name", "namespace") if relevant.get(name)}


def _is_valid_logical(schema: Mapping[str, Any]) -> bool:
    """Returns whether Avro heeds the logical type: it ignores a type that it does not understand."""
    logical = schema.get("logicalType")
    if logical != "decimal":
        return isinstance(logical, str)
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    is_number = type(precision) is int and type(scale) is int and 0 <= scale <= precision and precision > 0
    return is_number and schema["type"] in ("bytes", "fixed")


def _fixed(schema: dict[str, Any]) -> dict[str, Any]:
    size = schema["size"]
    if type(size) is not int or not 0 <= size < _LARGEST_SIZE:
        raise ValueError(f"a fixed type has the size {json.dumps(size)[:80]}: it must be a number of bytes")
    return schema


def _fields(fields: Any) -> list[dict[str, Any]]:
    names = [_normal_name(field["name"]) for field in fields]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"field {twice[0]} is defined twice")
    aliases = ({"aliases": [*map(str, field["aliases"])]} if "aliases" in field else {} for field in fields)
    return [
        {"name": name, **other_names, "type": _normal(field["type"])}
        for name, other_names, field in zip(names, aliases, fields, strict=True)
    ]


def _normal_name(name: Any) -> str:
    """Returns a name that Avro allows, possibly with a namespace in front; equal names stay equal.

    >>> _normal_name("com.shop.Visit"), _normal_name("com.$shop.2nd-visit")
    ('com.shop.Visit', 'com._24_shop._2nd_2d_visit')
    """
    parts = name.split(".") if isinstance(name, str) else [""]
    if not all(parts):
        raise ValueError(f"{name!r} is no name")
    plain = (_FOREIGN.sub(lambda found: f"_{ord(found[0]):x}_", part) for part in parts)
    return ".".join(f"_{part}" if part[0].isdigit() else part for part in plain)


def _kind(schema: Any) -> str:
    """Describes the type of a schema, for an error message."""
    if isinstance(schema, list):
        return "a union"
    return str(schema.get("type") if isinstance(schema, dict) else schema)
