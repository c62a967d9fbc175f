"""Statements about a session in `tidemark sql-server`: each takes effect, or is refused."""

import subprocess

import psycopg
import pytest

from tests.query.sql_clients import address, needs_psql, psql
from tests.support.processes import Process

pytestmark = pytest.mark.slow
TOKYO = "Asia/Tokyo"
DAYS = b"""SELECT CAST(date_trunc('day', hour) AS VARCHAR), count(*) FROM generate_series(
  TIMESTAMPTZ '2026-04-30 12:00:00Z', TIMESTAMPTZ '2026-05-03 11:00:00Z', INTERVAL 1 HOUR) hours(hour)
  GROUP BY 1 ORDER BY 1"""
HOURS = {"04-30": 3, "05-01": 24, "05-02": 24, "05-03": 21}
IN_TOKYO = [(f"2026-{day} 00:00:00+09", hours) for day, hours in HOURS.items()]


@pytest.mark.parametrize(
    "statement",
    [
        "SET TIME ZONE 'Asia/Tokyo'",
        'set session time zone "asia/tokyo"',
        "SET TimeZone TO 'Asia/Tokyo'",
        "/* a tool */ SET timezone=Asia/Tokyo;",
        "SET TIME ZONE 9",
        "SET TIME ZONE INTERVAL '+09:00' HOUR TO MINUTE",
        "SET timezone = 'GMT-09:00'",
        "BEGIN; SET LOCAL timezone = 'Asia/Tokyo'",
        "BEGIN; SET timezone = 'Asia/Tokyo'; SAVEPOINT a; SET timezone = 'UTC'; ROLLBACK TO a",
    ],
)
def test_days_are_those_of_the_time_zone_that_a_client_sets(client: psycopg.Connection, statement: str) -> None:
    client.execute(statement.encode())
    assert client.execute(DAYS).fetchall() == IN_TOKYO
    assert client.info.parameter_status("TimeZone") in (TOKYO, "Etc/GMT-9")


@pytest.mark.parametrize(
    "undo",
    [
        "RESET timezone",
        "RESET ALL",
        "SET TIME ZONE DEFAULT",
        "SET TIME ZONE LOCAL",
        "DISCARD ALL",
        "SET timezone = UTC",
    ],
)
def test_a_time_zone_is_reset(client: psycopg.Connection, undo: str) -> None:
    client.execute(b"SET TIME ZONE 'Asia/Tokyo'")
    client.execute(undo.encode())
    assert client.execute("SHOW TimeZone").fetchone() == ("UTC",)
    assert client.execute(DAYS).fetchall()[0] == ("2026-04-30 00:00:00+00", 12)


def test_a_transaction_that_is_rolled_back_undoes_settings(client: psycopg.Connection) -> None:
    client.execute(b"BEGIN; SET timezone = 'Asia/Tokyo'; ROLLBACK")
    assert client.execute("SHOW TIME ZONE").fetchone() == ("UTC",)
    client.execute(b"BEGIN; SET LOCAL timezone = 'Asia/Tokyo'; COMMIT")
    assert client.execute("SHOW TIME ZONE").fetchone() == ("UTC",)
    client.execute(b"BEGIN; SET timezone = 'Asia/Tokyo'; COMMIT")
    assert client.execute("SHOW TIME ZONE").fetchone() == (TOKYO,)


@pytest.mark.parametrize("options", ["-c timezone=Asia/Tokyo", "-cDateStyle=ISO --TimeZone=asia/tokyo"])
def test_a_client_may_start_with_a_time_zone(server: tuple[int, Process], options: str) -> None:
    with psycopg.connect(address(server[0]), autocommit=True, options=options) as connection:
        connection.execute(b"SET timezone = 'UTC'; RESET timezone")
        assert connection.execute(DAYS).fetchall() == IN_TOKYO
        (first,) = connection.execute("SELECT TIMESTAMPTZ '2026-05-01 00:00:00Z'").fetchone() or (None,)
        assert str(first) == "2026-05-01 09:00:00+09:00"


@needs_psql
def test_psql_takes_the_zone_of_its_environment(server: tuple[int, Process]) -> None:
    rows = psql(server[0], DAYS.decode(), PGTZ=TOKYO)
    assert rows == [f"{day}|{hours}" for day, hours in IN_TOKYO]
    assert psql(server[0], "SELECT TIMESTAMPTZ '2026-05-01 00:00:00.250Z'", PGTZ="Asia/Kolkata") == [
        "2026-05-01 05:30:00.25+05:30"
    ]
    with pytest.raises(subprocess.CalledProcessError) as refused:
        psql(server[0], "SELECT 1", PGTZ="Asia/Nowhere")
    assert "TimeZone cannot be set to 'Asia/Nowhere' here" in refused.value.stderr


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("SET TIME ZONE 'Asia/Nowhere'", "22023"),
        ("SET statement_timeout = '-1'", "22023"),
        ("SET statement_timeout = '5 lightyears'", "22023"),
        ("SET idle_in_transaction_session_timeout = 1000", "22023"),
        ("SET TIME ZONE 'BST'", "22023"),
        ("SET TIME ZONE 5.5", "22023"),
        ("SET memory_limit = '90g'", "42704"),
        ("SET enable_external_access = true", "42704"),
        ("RESET memory_limit", "42704"),
        ("SET DateStyle = 'German'", "22023"),
        ("SET client_encoding = 'LATIN1'", "22023"),
        ("SET search_path = elsewhere", "22023"),
        ("SET transaction_read_only = off", "22023"),
        ("SET server_version = '17'", "22023"),
        ("SET LOCAL timezone = 'UTC'", "25P01"),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "25006"),
        ("BEGIN ISOLATION LEVEL REPEATABLE READ", "0A000"),
        ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY", "0A000"),
        ("SAVEPOINT a", "25P01"),
        ("BEGIN; ROLLBACK TO a", "3B001"),
        ("DEALLOCATE nothing", "26000"),
        ("CLOSE nothing", "34000"),
        ("LISTEN a", "42601"),
        ("SET ROLE postgres", "42601"),
        ("LOCK TABLE page_views", "42601"),
    ],
)
def test_a_statement_without_effect_is_refused(client: psycopg.Connection, statement: str, code: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        client.execute(statement.encode())
    assert refused.value.sqlstate == code
    client.execute("ROLLBACK")
    assert client.execute("SHOW TimeZone").fetchone() == ("UTC",)


ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range % 7 = b.range % 11"
STREAMED = "SELECT a.range FROM range(1000000000) a WHERE a.range % 1000000000 < 5"


@pytest.mark.parametrize("statement", [ENDLESS, STREAMED])
@pytest.mark.parametrize("prepare", [False, True])
def test_a_statement_ends_at_its_timeout(client: psycopg.Connection, statement: str, prepare: bool) -> None:
    client.execute("SET statement_timeout = '100ms'")
    assert client.execute("SHOW statement_timeout").fetchone() == ("100",)
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute(statement.encode(), prepare=prepare)
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute(b"SELECT 1; " + statement.encode())
    client.execute("RESET statement_timeout")
    assert client.execute("SELECT count(*) FROM range(10)").fetchone() == (10,)


@pytest.mark.parametrize(
    "statement",
    [
        "SET application_name = 'it''s'",
        "SET DateStyle = ISO, MDY; SET extra_float_digits = 3; SHOW transaction_isolation",
        "SET client_encoding TO 'utf-8'; SET NAMES 'UTF8'; SET client_min_messages TO WARNING",
        "SET search_path TO main, public; SET standard_conforming_strings = on",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY, ISOLATION LEVEL READ COMMITTED",
        "SET SESSION AUTHORIZATION DEFAULT; RESET ROLE; UNLISTEN *; CLOSE ALL; DEALLOCATE ALL; DISCARD PLANS",
        "BEGIN; SELECT ';' AS \"a;\" -- ;\n; SAVEPOINT a; RELEASE SAVEPOINT a; END",
    ],
)
def test_statements_that_hold_here_are_acknowledged(client: psycopg.Connection, statement: str) -> None:
    client.execute(statement.encode())
    assert client.execute("SHOW application_name").fetchone() == ("it's" if "it''s" in statement else "",)
