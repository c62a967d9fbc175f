"""Changes DuckDB's parse of a statement where PostgreSQL gives the same text another meaning."""

import re
from typing import Any, Final

from tidemark.pipeline.sql_server.catalog import RELATIONS, VIEWS_OF_STANDARD
from tidemark.pipeline.sql_server.literals import text_items

_BYTES: Final = re.compile(r"\\x(?:[0-9a-fA-F]{2})*")
"""PostgreSQL's text of bytes: a backslash and an `x` before all of them. DuckDB has both before each byte."""
_SCHEMAS: Final = {
    **dict.fromkeys(["", "pg_catalog"], ("postgres", RELATIONS)),
    "information_schema": ("information", VIEWS_OF_STANDARD),
}
"""The schemas of PostgreSQL whose relations `stored` has, with its name for them."""


def adapted(node: dict[str, Any]) -> bool:
    """Changes a node of the parse, and returns whether it did. Raises Refused for an array of several dimensions."""
    match node:
        case {"type": "TABLE_FUNCTION", "alias": alias, "column_name_alias": [], "function": {"function_name": name}}:
            if not alias or name == "range":  # `range`, with the column `range`, is DuckDB's
                return False
            node["column_name_alias"] = [alias]
            return True
        case {"class": "CAST", "cast_type": {"id": kind}, "child": {"value": {"value": str(text)} as value}}:
            if kind == "LIST" and text.startswith("{"):
                node["child"] = _list(text)
            elif kind == "BLOB" and _BYTES.fullmatch(text):
                value["value"] = re.sub("..", r"\\x\g<0>", text[2:])
            else:
                return False
            return True
        case {"subquery_type": "ANY", "subquery": {"node": {"select_list": [{"function_name": "unnest"} as unnest]}}}:
            return _compare_with_texts(node, unnest)
    return _named_as_here(node)


def _named_as_here(node: dict[str, Any]) -> bool:
    """Removes PostgreSQL's schemas from a name, or puts ours in their place."""
    match node:
        case {"type": "BASE_TABLE", "catalog_name": "" | "tidemark", "schema_name": schema, "table_name": name}:
            own, relations = _SCHEMAS.get(schema.lower(), ("", ()))
            if name.lower() not in relations:
                return False
            node.update({"catalog_name": "stored", "schema_name": own})
        case {"class": "COLUMN_REF", "column_names": [schema, _, _, *_] as names} if schema.lower() in _SCHEMAS:
            del names[0]
        case {"class": "FUNCTION", "schema": schema} if schema and schema.lower() in _SCHEMAS:
            node["schema"] = ""
        case _:
            return False
    return True


def _list(text: str) -> dict[str, Any]:
    """Returns the parse of a list for the text of an array, such as `{1,2}`."""
    items = [
        {
            "type": {"id": "NULL" if item is None else "VARCHAR"},
            "is_null": item is None,
            "value": (item or b"").decode(),
        }
        for item in text_items(text)
    ]
    constants = [{"class": "CONSTANT", "type": "VALUE_CONSTANT", "value": item} for item in items]
    return {"class": "FUNCTION", "type": "FUNCTION", "function_name": "list_value", "children": constants}


def _compare_with_texts(node: dict[str, Any], unnest: dict[str, Any]) -> bool:
    """Replaces `x = ANY('{1,2}')` by comparisons with the items as texts, which take the type of `x`."""
    match unnest["children"]:
        case [{"value": {"value": str(text)}}] if text[:1] == "{":
            unnest["children"] = [_list(text)]
        case _:
            return False
    if items := unnest["children"][0]["children"]:
        value, comparison = node["child"], node["comparison_type"]
        node.clear()
        if comparison == "COMPARE_EQUAL":  # IN is 300 times as fast as OR for 5,000 items
            node.update({"class": "OPERATOR", "type": "COMPARE_IN", "children": [value, *items]})
        else:
            each = [{"class": "COMPARISON", "type": comparison, "left": value, "right": item} for item in items]
            node.update({"class": "CONJUNCTION", "type": "CONJUNCTION_OR", "children": each})
    return True
