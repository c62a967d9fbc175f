"""Python's libraries for PostgreSQL as clients of `tidemark sql-server`: psycopg2, ADBC, and the arrays of asyncpg."""

import asyncio
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import asyncpg
import psycopg2
import psycopg2.extras
import pyarrow as pa
import pytest

from tests.query.sql_clients import address
from tests.support.processes import Process

pytestmark = pytest.mark.slow
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
USERS = "SELECT user_id FROM page_views WHERE {} ORDER BY 1"
LISTED = """SELECT list(user_id) AS users, array_agg(page_views) AS views, list(window_start) AS starts,
  [1.5::decimal(5, 2), NULL] AS decimals, [true] AS states, [DATE '2024-05-01'] AS days, []::int[] AS nothing,
  ['a b', NULL, 'NULL', '', 'x"\\{,}'] AS texts, NULL::int[] AS none, [[1], [2, 3]] AS lists
  FROM (SELECT * FROM page_views WHERE user_id = 'bob' ORDER BY ALL)"""
LISTS = [
    *(["bob", "bob"], [2, 1], [NOON, NOON + timedelta(minutes=10)], [Decimal("1.50"), None], [True], [NOON.date()]),
    *([], ["a b", None, "NULL", "", 'x"\\{,}'], None, "[[1], [2, 3]]"),
]
"""Lists of lists stay JSON: PostgreSQL has arrays of arrays of one length only."""


@pytest.mark.parametrize(
    ("condition", "value", "users"),
    [
        ("page_views = ANY(%s)", [2], ["ann", "bob"]),
        ("page_views <> ALL(%s)", [], ["ann", "ann", "ann", "bob", "bob"]),
        ("user_id = ANY(%s)", ["bob", "it's a \\"], ["bob", "bob"]),
        ("user_id IN %s", ("bob", "eve"), ["bob", "bob"]),
        ("window_start > ANY(%s)", [NOON + timedelta(minutes=10)], ["ann"]),
        ("window_start >= %s AND page_views > 1", NOON, ["ann", "bob"]),
    ],
)
def test_psycopg2_asks_with_values(
    server: tuple[int, Process], condition: str, value: object, users: list[str]
) -> None:
    connection = psycopg2.connect(address(server[0]))
    with connection.cursor() as cursor:
        cursor.execute(USERS.format(condition), (value,))
        assert [row[0] for row in cursor.fetchall()] == users
    connection.close()


def test_psycopg2_reads_lists_portions_copies_and_its_zone(server: tuple[int, Process]) -> None:
    connection = psycopg2.connect(address(server[0]), options="-c timezone=Europe/Berlin")
    with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute(LISTED)
        assert [*cursor.fetchone().values()] == LISTS
        cursor.execute("SELECT min(window_start) AS first, date_trunc('day', min(window_start)) AS day FROM page_views")
        times = cursor.fetchone()
        assert (times["first"], times["first"].utcoffset()) == (NOON, timedelta(hours=2))
        assert times["day"] == NOON.replace(hour=0) - timedelta(hours=2)
        values = ("a'b\\", 1.5, Decimal("2.50"), True, None, NOON.date(), timedelta(1, 2), b"\x00'b")
        cursor.execute(f"SELECT {', '.join(f'%s AS v{place}' for place in range(len(values)))}", values)
        assert [bytes(value) if isinstance(value, memoryview) else value for value in cursor.fetchone().values()] == [
            *values
        ]
    with connection.cursor("portions") as named:
        named.itersize = 2
        named.execute("SELECT user_id, page_views FROM page_views WHERE user_id = %s ORDER BY ALL", ("ann",))
        assert [*named] == [("ann", 1), ("ann", 1), ("ann", 2)]
    copied = io.StringIO()
    with connection.cursor() as cursor:
        cursor.copy_expert(f"COPY ({LISTED.replace(', [[1], [2, 3]] AS lists', '')}) TO STDOUT CSV HEADER", copied)
    connection.close()
    head, row = copied.getvalue().splitlines()
    assert head == "users,views,starts,decimals,states,days,nothing,texts,none"
    assert row == (
        '"{bob,bob}","{2,1}","{""2024-05-01 14:00:00+02"",""2024-05-01 14:10:00+02""}","{1.50,NULL}",{t},{2024-05-01},'
        '{},"{""a b"",NULL,""NULL"","""",""x\\""\\\\{,}""}",'
    )


def test_adbc_reads_typed_columns(server: tuple[int, Process]) -> None:
    with adbc.connect(address(server[0])) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM page_views WHERE user_id = 'bob' ORDER BY ALL")
        views = cursor.fetch_arrow_table()
        times = pa.timestamp("us", "UTC")
        types = {"window_start": times, "window_end": times, "user_id": pa.string()}
        counts = dict.fromkeys(("page_views", "clicks", "late_events", "published_batch"), pa.int64())
        assert {field.name: field.type for field in views.schema} == types | counts
        assert views["window_start"].to_pylist() == [NOON, NOON + timedelta(minutes=10)]
        cursor.execute(LISTED)
        lists = cursor.fetch_arrow_table().to_pylist()[0]
        assert {**lists, "decimals": [Decimal("1.50"), None]} == dict(zip(lists, LISTS, strict=True))
        assert lists["decimals"] == ["1.50", None]  # ADBC reads decimals as texts
        cursor.execute(USERS.format("page_views = ANY($1) AND user_id <> $2"), ([1, 2], "bob"))
        assert cursor.fetch_arrow_table()["user_id"].to_pylist() == ["ann", "ann", "ann"]
        (catalogue,) = connection.adbc_get_objects(depth="columns").read_all().to_pylist()
        tables = catalogue["catalog_db_schemas"][0]["db_schema_tables"]
        columns = {table["table_name"]: table["table_columns"] for table in tables}
        assert {*columns} == {"dead_letters", "ledger", "page_views", "page_views_live"}
        assert {column["column_name"] for column in columns["page_views"]} == {*views.column_names}
        assert connection.adbc_get_table_schema("page_views").names == views.column_names


async def _by_asyncpg(port: int) -> dict[str, Any]:
    connection = await asyncpg.connect(address(port))
    answers: dict[str, Any] = {}
    try:
        answers["listed"] = [*(await connection.fetchrow(LISTED))]
        for condition, values in (("page_views = ANY($1)", [2]), ("window_start = ANY($1)", [NOON])):
            answers[condition] = [row[0] for row in await connection.fetch(USERS.format(condition), values)]
        answers["computed"] = tuple(await connection.fetchrow("SELECT $1::text || 'x', 2::bigint * $2::int", "a", 3))
        answers["bytes"] = await connection.fetchval("SELECT count(*) FROM dead_letters WHERE value = $1", b"/ visit")
        for name, condition, value in (("copied", "user_id = $1", "bob"), ("number", "page_views >= $1", 2)):
            file = io.BytesIO()
            await connection.copy_from_query(USERS.format(condition), value, output=file, format="csv")
            answers[name] = file.getvalue()
        with pytest.raises(asyncpg.PostgresError):
            await connection.copy_from_query(USERS.format("page_views = ANY($1)"), [2], output=io.BytesIO())
    finally:
        await connection.close()
    return answers


def test_asyncpg_finds_the_types_of_arrays(server: tuple[int, Process]) -> None:
    """It asks for each type of array that it meets, for ever if the catalogue has no such type."""
    assert asyncio.run(_by_asyncpg(server[0])) == {
        "listed": LISTS,
        "page_views = ANY($1)": ["ann", "bob"],
        "window_start = ANY($1)": ["ann", "bob"],
        "computed": ("ax", 6),
        "bytes": 1,
        "copied": b"bob\nbob\n",
        "number": b"ann\nbob\n",
    }
