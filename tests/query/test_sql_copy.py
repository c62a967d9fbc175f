"""COPY ... TO STDOUT from `tidemark sql-server`."""

from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from tests.query.sql_clients import needs_psql, psql
from tests.support.processes import Process

pytestmark = pytest.mark.slow
COPIED = """COPY (SELECT 1 AS number, 'a,\t"b"' || chr(10) || '\\' AS text, '' AS empty, NULL AS none, '\\.' AS dot,
  TIMESTAMPTZ '2024-05-01 12:00:00.25Z' AS time
  UNION ALL SELECT 2, 'plain', 'x', NULL, 'y', NULL ORDER BY 1) TO STDOUT"""
COPIED_ROWS = [
    (1, 'a,\t"b"\n\\', "", None, "\\.", datetime(2024, 5, 1, 12, 0, 0, 250_000, UTC)),
    (2, "plain", "x", None, "y", None),
]


@pytest.mark.parametrize(
    ("options", "copied"),
    [
        ("", b'1\ta,\\t"b"\\n\\\\\t\t\\N\t\\\\.\t2024-05-01 12:00:00.25+00\n2\tplain\tx\t\\N\ty\t\\N\n'),
        (
            " CSV HEADER",
            b'number,text,empty,none,dot,time\n1,"a,\t""b""\n\\","",,"\\.",2024-05-01 12:00:00.25+00\n2,plain,x,,y,\n',
        ),
        (
            " WITH (FORMAT csv, HEADER false, DELIMITER ';', NULL 'x', FORCE_QUOTE *, ENCODING 'utf8')",
            b'"1";"a,\t""b""\n\\";"";x;"\\.";"2024-05-01 12:00:00.25+00"\n"2";"plain";"x";x;"y";x\n',
        ),
    ],
)
def test_rows_are_copied_as_by_postgresql(client: psycopg.Connection, options: str, copied: bytes) -> None:
    with client.cursor() as cursor, cursor.copy((COPIED + options).encode()) as copy:
        assert b"".join(map(bytes, copy)) == copied


@pytest.mark.parametrize("options", ["", " (FORMAT text)", " BINARY", " WITH BINARY", " WITH (FORMAT 'binary')"])
def test_copied_rows_are_read_by_a_client(client: psycopg.Connection, options: str) -> None:
    with client.cursor() as cursor, cursor.copy((COPIED + options).encode()) as copy:
        copy.set_types(["int4", "text", "text", "text", "text", "timestamptz"])
        assert [*copy.rows()] == COPIED_ROWS
    nothing = f"COPY (SELECT 1 WHERE false) TO STDOUT{options}"
    with client.cursor() as cursor, cursor.copy(nothing.encode()) as copy:
        assert [*copy.rows()] == []
    with client.cursor() as cursor, cursor.copy("COPY page_views (user_id, page_views) TO STDOUT") as copy:
        assert min(copy.rows()) == ("ann", "1")


@needs_psql
def test_psql_copies_to_a_file(server: tuple[int, Process], tmp_path: Path) -> None:
    query = "SELECT user_id, sum(page_views) AS views FROM page_views GROUP BY 1 ORDER BY 1"
    assert psql(server[0], rf"\copy ({query}) TO '{tmp_path}/c' CSV HEADER") == ["COPY 2"]
    assert (tmp_path / "c").read_text() == "user_id,views\nann,4\nbob,3\n"


@pytest.mark.parametrize("options", [" (FORMAT parquet)", " (FORCE_NULL *)", " (DELIMITER 'ab')", " (ENCODING latin1)"])
def test_an_option_of_copy_without_effect_is_refused(client: psycopg.Connection, options: str) -> None:
    with pytest.raises(psycopg.Error) as refused, client.cursor() as cursor, cursor.copy((COPIED + options).encode()):
        pass
    assert refused.value.sqlstate == "0A000"


@pytest.mark.parametrize(
    "statement",
    ["COPY stored.panes TO STDOUT", "COPY (DELETE FROM ledger) TO STDOUT", "COPY (SELECT * FROM panes) TO STDOUT"],
)
def test_only_views_are_copied(client: psycopg.Connection, statement: str) -> None:
    with pytest.raises(psycopg.Error) as refused, client.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.read()
    assert refused.value.sqlstate in ("42P01", "42501")
