"""Statements that BI tools generate for PostgreSQL, as `tidemark sql-server` executes them."""

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Site
from tidemark.pipeline.sql_server.answers import Answers
from tidemark.pipeline.sql_server.catalog import RELATIONS, VIEWS_OF_STANDARD
from tidemark.pipeline.sql_server.client_session import Session
from tidemark.pipeline.sql_server.database import Database
from tidemark.pipeline.sql_server.wire import Refused

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

# Grafana's editor of queries lists the tables that the search path finds.
GRAFANA_TABLES = """SELECT CASE WHEN quote_ident(table_schema) IN (
  SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(
    array_lower(string_to_array(current_setting('search_path'),','),1),
    array_upper(string_to_array(current_setting('search_path'),','),1)) as i,
  string_to_array(current_setting('search_path'),',') s)
THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog') ORDER BY 1"""
GRAFANA_COLUMNS = """SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
WHERE CASE WHEN array_length(parse_ident('page_views'),1) = 2
  THEN quote_ident(table_schema) = (parse_ident('page_views'))[1]
    AND quote_ident(table_name) = (parse_ident('page_views'))[2]
  ELSE quote_ident(table_name) = (parse_ident('page_views'))[1] END LIMIT 3"""
GRAFANA_COLUMN_TYPES = [
    *((f"window_{end}", "timestamp with time zone") for end in ("start", "end")),
    ("user_id", "character varying"),
]
# Npgsql, the driver of Power BI, reads the types when it connects, and knows those of `pg_catalog`.
TYPES = """SELECT n.nspname, t.typname, t.typtype, t.typnotnull FROM pg_type AS t
LEFT JOIN pg_class AS c ON c.oid = t.typrelid LEFT JOIN pg_proc AS p ON p.oid = t.typreceive
LEFT JOIN pg_range AS r ON r.rngtypid = t.oid LEFT JOIN pg_enum AS e ON e.enumtypid = t.oid
JOIN pg_namespace AS n ON n.oid = t.typnamespace
WHERE t.oid IS NULL OR p.proname = 'array_recv' OR t.oid IN (20, 25, 1184, 1186) ORDER BY t.oid"""
# ADBC and asyncpg find the types of arrays and of their items, and pgjdbc those that are arrays.
ARRAYS = """SELECT t.typname, e.typname AS item, t.typreceive::text, t.typinput = 'array_in'::regproc
FROM pg_catalog.pg_type t JOIN pg_type e ON e.oid = t.typelem AND e.typarray = t.oid
WHERE e.typreceive::text != 'array_recv' AND (t.typreceive != 0 OR t.typsend != 0)
  AND t.oid = ANY('{1009, 1016}'::oid[]) ORDER BY 1"""
TABLES = [("dead_letters",), ("ledger",), ("page_views",), ("page_views_live",)]
NOON_SQL = "TIMESTAMPTZ '2024-05-01 13:04:05.678Z'"


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
        (GRAFANA_TABLES, TABLES),
        (TYPES, [("pg_catalog", name, "b", False) for name in ("int8", "text", "timestamptz", "interval")]),
        (ARRAYS, [(f"_{name}", name, "array_recv", True) for name in ("int8", "text")]),
        ("SELECT count(*) FROM pg_attribute WHERE attrelid = 'main.page_views'::pg_catalog.regclass::oid", [(7,)]),
        ("SELECT to_regclass('none'), '5'::regclass, to_regtype('int8'), to_regtype('none')", [(None, 5, 20, None)]),
        ('SELECT [1]::"pg_catalog"."_int8", 1 AS _int8, 2 AS oid', [([1], 1, 2)]),
        ("SELECT 'ann' ~ 'n', 'ann' !~'^n', 'ann' ~* 'AN', 'ann' !~* 'b', 'a ~ b', ~1", [(*[True] * 4, "a ~ b", -2)]),
        ("SELECT 'ann' OPERATOR(pg_catalog.~) 'n', 'ann' OPERATOR(pg_catalog.!~) 'n'", [(True, False)]),
        (
            f"SELECT date_bin('5 minutes', {NOON_SQL}, TIMESTAMPTZ '2001-01-01'), quote_literal('a''b'), json_agg(1)",
            [(datetime(2024, 5, 1, 13, tzinfo=UTC), "'a''b'", "[1]")],
        ),
        (GRAFANA_COLUMNS, GRAFANA_COLUMN_TYPES),
        ("SELECT current_setting('server_version_num')::int // 100, current_setting('none', true)", [(906, None)]),
        ("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'", []),
        ("SELECT table_name FROM information_schema.tables ORDER BY 1", TABLES),
        ("SELECT table_name FROM information_schema.views WHERE table_schema = 'main' ORDER BY 1", TABLES),
        ("SELECT DISTINCT table_name FROM information_schema.columns ORDER BY 1", TABLES),
        ("SELECT schema_name FROM information_schema.schemata", [("main",)]),
        ("SELECT viewname FROM pg_views ORDER BY 1", TABLES),
        ("SELECT relname FROM pg_class ORDER BY 1", TABLES),
        ("SELECT tablename FROM pg_tables", []),
        ("SELECT datname FROM pg_database", [("tidemark",)]),
        (
            "SELECT string_to_array('a,b', ','), quote_ident('order'), quote_ident('a\"b')",
            [(["a", "b"], '"order"', '"a""b"')],
        ),
        ("SELECT i FROM generate_series(1, 2) AS i", [(1,), (2,)]),
        (f"SELECT to_char({NOON_SQL}, 'YYYY-MM-DD HH24:MI:SS.US')", [("2024-05-01 13:04:05.678000",)]),
        (f"SELECT to_char({NOON_SQL}, 'DD Mon YY, HH12:MI AM')", [("01 May 24, 01:04 PM",)]),
        ("SELECT to_char(DATE '2024-12-30', 'IYYY-IW DDD FMDay FMMonth')", [("2025-01 365 Monday December",)]),
        ("SELECT to_char(max(window_start), 'YYYY-MM-DD\"T\"HH24') FROM page_views", [("2024-05-01T12",)]),
    ],
)
def test_statements_that_tools_generate_are_answered(
    database: Database, statement: str, answer: list[tuple[object, ...]]
) -> None:
    assert [tuple(row.values()) for row in rows(database, statement).to_pylist()] == answer


def rows(database: Database, statement: str) -> pa.Table:
    result = Answers(database, Session({})).answer(statement)
    batches = [*result.take()]
    return pa.Table.from_batches(batches, result.schema)


SCHEMAS = {**dict.fromkeys(RELATIONS, "pg_catalog"), **dict.fromkeys(VIEWS_OF_STANDARD, "information_schema")}


@pytest.mark.parametrize("relation", SCHEMAS)
def test_the_relations_of_catalogs_are_the_same_in_any_quotes(database: Database, relation: str) -> None:
    schema = SCHEMAS[relation]
    names = [f"{schema}.{relation}", f'"{schema}".{relation}', f'{schema}."{relation}"', f'"{schema}"."{relation}"']
    names += [names[0].upper(), *([relation, f'"{relation}"'] if relation in RELATIONS else [])]
    first, *others = [rows(database, f"FROM {name}") for name in names]
    assert all(other == first for other in others)
    for name in names:  # a column may be named by all of its relation's name
        assert rows(database, f"FROM {name} SELECT {name}.{first.column_names[0]}").column(0) == first.column(0)


def test_functions_of_catalogs_are_the_same_in_any_quotes(database: Database) -> None:
    for name in ("format_type", "pg_catalog.format_type", '"pg_catalog"."format_type"', 'PG_CATALOG."format_type"'):
        assert rows(database, f"SELECT {name}(20, NULL) AS type").to_pylist() == [{"type": "bigint"}]


@pytest.mark.parametrize("statement", ["SHOW ALL TABLES", "DESCRIBE", "SHOW DATABASES", "SHOW TABLES FROM stored"])
def test_what_would_list_more_than_the_views_is_refused(database: Database, statement: str) -> None:
    with pytest.raises(Refused):
        rows(database, statement)


@pytest.mark.parametrize("asked", ["to_char(now(), 'Month Q')", "current_setting('memory_limit')"])
def test_a_function_that_would_answer_otherwise_than_postgresql_fails(database: Database, asked: str) -> None:
    with pytest.raises(duckdb.Error, match=r"is not supported|does not exist here"):
        [*Answers(database, Session({})).answer(f"SELECT {asked}").take()]
