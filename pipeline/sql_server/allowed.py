"""Refuses statements that do more than read the views.

This is an allow-list over DuckDB's own parse of the statement, not a search for words. In addition, the engine has no
access to files, to the network or to its settings (`database.py`).
"""

import json
from collections.abc import Collection, Iterator
from typing import Any, Final

import duckdb

from tidemark.pipeline.sql_server.adapted import adapted
from tidemark.pipeline.sql_server.database import DATABASE_NAME
from tidemark.pipeline.sql_server.wire import Refused

_CATALOGS: Final = ("pg_catalog", "information_schema", "postgres", "information")
"""Schemas that describe the views; the last two are ours (`catalog.py`)."""
_TABLE_FUNCTIONS: Final = ("generate_series", "generate_subscripts", "range", "string_to_array", "unnest")
_TABLES: Final = ('"tables"', "")
"""Name and schema of the table in DuckDB's parse of SHOW TABLES."""
_REFUSED: Final = "only SELECT, SHOW, DESCRIBE and EXPLAIN are allowed: this end point is read-only"


def reading(cursor: duckdb.DuckDBPyConnection, statement: str, views: Collection[str]) -> str:
    """Returns the statement with the meaning that it has in PostgreSQL (`adapted.py`).

    Raises Refused unless the statement only reads `views` and the catalogs that describe them.
    """
    explained = _explained(statement)
    parsed = _checked(cursor, explained, views)
    if not [node for node in [*_nodes(parsed)] if adapted(node)]:
        return statement
    rewritten = cursor.execute("SELECT json_deserialize_sql(?)", [json.dumps(parsed)]).fetchone()
    text = str(rewritten[0]) if rewritten else ""
    _checked(cursor, text, views)  # so that the text that is executed is checked
    return statement.removesuffix(explained) + text


def _checked(cursor: duckdb.DuckDBPyConnection, statement: str, views: Collection[str]) -> dict[str, Any]:
    """Returns DuckDB's parse of a statement. Raises Refused unless it only reads `views` and the catalogs."""
    serialized = cursor.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()
    parsed: dict[str, Any] = json.loads(serialized[0] if serialized else "{}")
    if parsed.get("error", True):
        message = parsed.get("error_message", "")
        raise Refused("42501", _REFUSED) if "Only SELECT" in message else Refused("42601", message)
    if not parsed["statements"]:  # DuckDB makes several statements of such a PIVOT, and the first creates a type
        raise Refused("0A000", "PIVOT needs the values of its columns: PIVOT ... ON column IN ('a', 'b')")
    nodes = [*_nodes(parsed["statements"])]
    named = {*views, *(entry["key"] for node in nodes if "cte_map" in node for entry in node["cte_map"]["map"])}
    names = {*map(str.lower, named)}  # like DuckDB, which compares names without their case
    for node in nodes:
        _require_known(node, names)
    return parsed


def _explained(statement: str) -> str:
    """Returns the statement after EXPLAIN, or the whole text."""
    first, _, rest = statement.strip().partition(" ")
    if first.upper() != "EXPLAIN":
        return statement
    second, _, last = rest.strip().partition(" ")
    return last if second.upper() == "ANALYZE" else rest


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
        if isinstance(node, dict | list):
            waiting += node.values() if isinstance(node, dict) else node


def _require_known(node: dict[str, Any], names: Collection[str]) -> None:
    if node.get("type") == "BASE_TABLE":
        schema, table = node["schema_name"].lower(), node["table_name"].lower()
        # The database `stored` has the tables of the views under the same names, with uncommitted rows.
        is_view = node["catalog_name"].lower() in ("", DATABASE_NAME) and schema in ("", "main") and table in names
        if not is_view and schema not in _CATALOGS and not (schema == "" and table.startswith("pg_")):
            raise Refused("42P01", f"there is no view {table}: SHOW TABLES lists the views")
    if node.get("type") == "SHOW_REF" and not node["query"] and (node["table_name"], node["schema_name"]) != _TABLES:
        raise Refused("0A000", "of SHOW and DESCRIBE only SHOW TABLES, SHOW setting and DESCRIBE view are allowed")
    if node.get("type") == "TABLE_FUNCTION":
        function = node["function"].get("function_name", "")
        if function not in _TABLE_FUNCTIONS:
            raise Refused("42501", f"the table function {function} is not allowed: query the views")
