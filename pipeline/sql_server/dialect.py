"""Syntax of PostgreSQL that its clients use and DuckDB lacks."""

import re
from typing import Final

from tidemark.pipeline.sql_server.pg_types import SCALARS

VERBATIM: Final = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*(?:.*?\*/|.*)"
"""Texts, names and comments, in which no word means anything; for an expression with re.DOTALL.

A comment without an end is matched, too: otherwise the search for its end would be repeated at each later comment.
"""
_CATALOG: Final = r"(?:pg_catalog|\"pg_catalog\")\."
_QUALIFIED: Final = re.compile(
    rf"(?P<text>'(?:[^']|'')*')(?P<regclass>\s{{0,9}}::\s{{0,9}}(?:{_CATALOG})?regclass\b)?|{VERBATIM}"
    r"|(?P<collation>\bCOLLATE\s+pg_catalog\.\"?default\"?)"
    r"|\bOPERATOR\s*\(pg_catalog\.(?:(?P<search>!?~)|(?P<operator>[^)\w\s]+))\)"
    r"|(?P<member>\b\w{1,63}(?:\.\w{1,63})?)\s{0,9}=\s*ANY\s*\((?P<members>\w+\.(?:indkey|conkey))\)"
    r"|(?<![~!@#%^&|?<>=*/+-])(?P<matches>!?~)(?![~!@#%^&|?<>=*/+-]|\s{0,9}\d)"
    rf"|(?P<cast>::\s{{0,9}}|\bAS\s{{1,9}}(?={_CATALOG}))(?:{_CATALOG}\"?)?"
    rf"(?:_(?P<array>{'|'.join(kind.name for kind in SCALARS)})|(?P<oid>oid)|(?<=[.\"])(?P<type>\w{{1,63}}))"
    r"\b\"?(?!\s{0,9}\.)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches texts, names and comments, which stay unchanged, and what DuckDB cannot parse or takes for something else."""
_REPLACED: Final = {
    "regclass": "to_regclass({text})",
    "collation": "",
    "search": "{search}^",  # DuckDB's own match whole texts only
    "operator": "{operator}",
    "members": "list_contains({members}, {member})",
    "matches": "{matches}^",
    "array": "{cast}{array}[]",
    "oid": "{cast}UINTEGER",
    "type": "{cast}{type}",
}
"""The replacement of a match, by the last group of `_QUALIFIED` that took part in it."""


def in_duckdb(statement: str) -> str:
    """Returns the statement with operators and types as DuckDB has them; `adapted.py` changes what it can parse."""

    def plain(word: re.Match[str]) -> str:
        return _REPLACED[word.lastgroup].format(**word.groupdict()) if word.lastgroup in _REPLACED else word[0]

    return _QUALIFIED.sub(plain, statement)
