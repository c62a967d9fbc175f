"""Types of parameters that a client leaves open, from DuckDB's parse of the statement."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tidemark.pipeline.sql_server.pg_types import oid_of

_SAME_TYPE: Final = ("date_trunc", "max", "min")
"""Functions whose result has the type of their last argument."""
_SIDES: Final = ("left", "right", "input", "lower", "upper")
"""The compared expressions of a comparison or of BETWEEN."""


def parameter_types(serialized: str, columns: Mapping[str, str]) -> dict[int, int]:
    """Returns types by parameter, from 1: those of casts, compared columns, and LIMIT. A column of its own is text.

    `serialized` is what `json_serialize_sql` returns, `columns` has the types of columns by their names in lower case.
    """
    types: dict[int, int] = {}

    def visit(node: dict[str, Any]) -> dict[str, Any]:
        for parameter, oid in _found(node, columns):
            if oid and parameter.get("class") == "PARAMETER" and parameter["identifier"].isdigit():
                types.setdefault(int(parameter["identifier"]), oid)
        return node

    json.loads(serialized, object_hook=visit)
    return types


def _found(node: dict[str, Any], columns: Mapping[str, str]) -> Iterator[tuple[dict[str, Any], int]]:
    """Yields expressions of a node, which may be parameters, with the type that the node gives them."""
    expression, kind = node.get("class"), node.get("type")
    if expression == "CAST":
        yield node["child"], _oid(node["cast_type"])
    elif kind == "SELECT_NODE":
        yield from ((column, oid_of("VARCHAR")) for column in node["select_list"])
    elif kind == "LIMIT_MODIFIER":
        yield from ((node[part], oid_of("BIGINT")) for part in ("limit", "offset") if node[part])
    elif expression == "SUBQUERY" and node["subquery_type"] == "ANY" and node["child"]:
        name = _type_name(node["child"], columns)
        for item in node["subquery"]["node"].get("select_list", ()):
            if item.get("function_name") == "unnest":
                yield item["children"][0], oid_of(name or "VARCHAR", is_list=True)
    elif expression:
        sides = [node[side] for side in _SIDES if isinstance(node.get(side), dict)]
        sides += node["children"] if kind in ("COMPARE_IN", "COMPARE_NOT_IN") else []
        name = next((name for side in sides if (name := _type_name(side, columns))), None)
        yield from ((side, oid_of(name)) for side in sides if name)


def _type_name(expression: dict[str, Any], columns: Mapping[str, str]) -> str | None:
    match expression.get("class"):
        case "COLUMN_REF":
            return columns.get(expression["column_names"][-1].lower())
        case "CAST":
            return str(expression["cast_type"]["id"])
        case "FUNCTION" if expression["function_name"] in _SAME_TYPE and expression["children"]:
            return _type_name(expression["children"][-1], columns)
    return None


def _oid(cast_type: dict[str, Any]) -> int:
    if cast_type["id"] == "LIST":
        return oid_of(cast_type["type_info"]["child_type"]["id"], is_list=True)
    return oid_of(cast_type["id"])
