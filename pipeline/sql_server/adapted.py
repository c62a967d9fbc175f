"""Changes DuckDB's parse of a statement where PostgreSQL gives the same text another meaning."""

import re
from typing import Any, Final

from tidemark.pipeline.sql_server.literals import text_items

_BYTES: Final = re.compile(r"\\x(?:[0-9a-fA-F]{2})*")
"""PostgreSQL's text of bytes: a backslash and an `x` before all of them. DuckDB has both before each byte."""


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
    return False


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
