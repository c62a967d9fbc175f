"""Schemas that refer to types of other schemas, as registries store them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any


def with_types(text: str, named: Iterable[str]) -> str:
    """Returns an Avro schema, as JSON text, in which each referenced type is defined where it is used first.

    `named` are the schemas of these types, as JSON text. Raises ValueError if one of them is no JSON.
    """
    definitions = {_full_name(schema, ""): schema for schema in map(json.loads, named) if isinstance(schema, dict)}
    return json.dumps(_defined(json.loads(text), "", definitions, set()))


def _defined(schema: Any, namespace: str, definitions: Mapping[str, Any], done: set[str]) -> Any:
    """Returns a schema within a namespace; `done` are the types that are defined already."""
    if isinstance(schema, list):
        return [_defined(branch, namespace, definitions, done) for branch in schema]
    if isinstance(schema, str):
        name = schema if "." in schema or schema in definitions else f"{namespace}.{schema}"
        return schema if name in done or name not in definitions else _defined(definitions[name], "", definitions, done)
    if not isinstance(schema, dict):
        return schema
    inner = namespace
    if "name" in schema:
        full_name = _full_name(schema, namespace)
        done.add(full_name)
        inner = full_name.rpartition(".")[0]
    nested = {
        key: _defined(schema[key], inner, definitions, done) for key in ("type", "items", "values") if key in schema
    }
    if isinstance(fields := schema.get("fields"), list):
        nested["fields"] = [{**field, "type": _defined(field["type"], inner, definitions, done)} for field in fields]
    return {**schema, **nested}


def _full_name(schema: Mapping[str, Any], namespace: str) -> str:
    name = str(schema.get("name", ""))
    space = str(schema.get("namespace", namespace))
    return name if "." in name or not space else f"{space}.{name}"
