"""Statements that BI tools generate for PostgreSQL, as `tidemark sql-server` executes them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.reading.sql_server.answers import Answers
from pipeline.reading.sql_server.database import Database
from pipeline.reading.sql_server.session import Session
from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Site

pytestmark = pytest.mark.slow
# Superset's filter of a range of time.
RANGE = """SELECT DATE_TRUNC('day', window_start) AS day, CAST(SUM(page_views) AS BIGINT) FROM main.page_views
WHERE window_start >= TO_TIMESTAMP('2024-05-01 12:10:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
  AND window_start < TO_DATE('2024-05-02', 'YYYY-MM-DD') GROUP BY DATE_TRUNC('day', window_start)"""
# PostgreSQL's JDBC driver looks for keys and indexes, as DBeaver and Metabase do.
KEYS = """SELECT result.n, (result.keys).n FROM (
  SELECT i.indkey AS n, information_schema._pg_expandarray(i.indkey) AS keys,
    pg_catalog.pg_get_indexdef(i.indexrelid, 1, false), array_upper(i.indkey, 1) FROM pg_catalog.pg_index i) result"""

# SQLAlchemy 1.4's list of indexes, for Superset's preview of a table.
INDEXES = """SELECT i.relname, a.attname, c.conrelid, am.amname, pg_get_expr(ix.indpred, ix.indrelid)
FROM pg_class t JOIN pg_index ix ON t.oid = ix.indrelid JOIN pg_class i ON i.oid = ix.indexrelid
LEFT OUTER JOIN pg_attribute a ON t.oid = a.attrelid AND a.attnum = ANY(ix.indkey)
LEFT OUTER JOIN pg_constraint c ON (ix.indrelid = c.conrelid AND ix.indexrelid = c.conindid AND c.contype IN ('p', 'u'))
LEFT OUTER JOIN pg_am am ON i.relam = am.oid WHERE t.relkind IN ('r', 'v') AND ix.indisprimary = 'f'"""
# psqlODBC's list of columns: it refuses a null modifier of a type.
COLUMNS = """SELECT a.attname, t.typname, a.atttypmod, t.typtypmod, t.typbasetype FROM pg_catalog.pg_class c
INNER JOIN pg_catalog.pg_attribute a ON (NOT a.attisdropped) AND a.attnum > 0 AND a.attrelid = c.oid
INNER JOIN pg_catalog.pg_type t ON t.oid = a.atttypid WHERE c.relname LIKE 'page_views' ORDER BY attnum LIMIT 3"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    site = play(Site(tmp_path_factory.mktemp("tools"), PAGE_VIEWS_ALONE).open())
    return Database(str(Path(site.warehouse)), "500m")


@pytest.mark.parametrize(
    ("statement", "answer"),
    [
        (RANGE, [(datetime(2024, 5, 1, tzinfo=UTC), 3)]),
        ("SELECT to_timestamp(1.5)", [(datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC),)]),
        (KEYS, []),
        (INDEXES, []),
        (
            COLUMNS,
            [(f"window_{end}", "timestamptz", -1, -1, 0) for end in ("start", "end")]
            + [("user_id", "varchar", -1, -1, 0)],
        ),
        ("SELECT setting FROM pg_catalog.pg_settings WHERE name = 'max_index_keys'", [("32",)]),
    ],
)
def test_statements_that_tools_generate_are_answered(
    database: Database, statement: str, answer: list[tuple[object, ...]]
) -> None:
    result = Answers(database, Session({})).answer(statement)
    assert [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()] == answer
