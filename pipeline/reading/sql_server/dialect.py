"""Syntax of PostgreSQL that its clients use and DuckDB lacks."""

import re
from typing import Final

from pipeline.reading.sql_server.catalog import RELATIONS, VIEWS_OF_STANDARD

VERBATIM: Final = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*(?:.*?\*/|.*)"
"""Texts, names and comments, in which no word means anything; for an expression with re.DOTALL.

A comment without an end is matched, too: otherwise the search for its end would be repeated at each later comment.
"""
_QUALIFIED: Final = re.compile(
    VERBATIM + r"|(?P<collation>\bCOLLATE\s+pg_catalog\.\"?default\"?)"
    r"|\bOPERATOR\s*\(pg_catalog\.(?P<operator>[^)\w\s]+)\)"
    r"|\b(?:pg_catalog\.|information_schema\.(?=_))(?P<function>\w+)(?=\s*\()"
    rf"|\bpg_catalog\.(?P<relation>{'|'.join(RELATIONS)})\b"
    rf"|(?<![.\w])(?P<bare>{'|'.join(RELATIONS)})\b(?!\s{{0,9}}[.(])"
    rf"|\binformation_schema\.(?P<standard>{'|'.join(VIEWS_OF_STANDARD)})\b"
    r"|(?P<member>\b\w{1,63}(?:\.\w{1,63})?)\s{0,9}=\s*ANY\s*\((?P<members>\w+\.(?:indkey|conkey))\)"
    r"|(?<![~!@#%^&|?<>=*/+-])(?P<matches>!?~)(?![~!@#%^&|?<>=*/+-]|\s{0,9}\d)"
    r"|(?P<cast>::\s*|\bAS\s+)pg_catalog\.(?P<type>\w+)(?!\s*\.)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches texts, names and comments, which stay unchanged, and qualified names that DuckDB does not accept."""


def in_duckdb(statement: str) -> str:
    """Returns the statement without qualified functions, operators and types, which DuckDB does not accept."""

    def plain(word: re.Match[str]) -> str:
        if word["collation"]:
            return ""
        if word["member"]:
            return f"list_contains({word['members']}, {word['member']})"
        if word["type"]:
            return f"{word['cast']}{word['type']}"
        if relation := word["relation"] or word["bare"]:
            return f"stored.postgres.{relation}"
        if word["standard"]:
            return f"stored.information.{word['standard']}"
        operator = word["operator"] or word["matches"]
        if operator in ("~", "!~"):  # DuckDB's own match whole texts only
            operator += "^"
        return operator or word["function"] or word[0]

    return _QUALIFIED.sub(plain, statement)
