"""Values in `tidemark sql-server`: parameters and results of types that clients convert themselves."""

import asyncio
import random
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import psycopg
import pytest

from tests.query.sql_clients import address
from tests.support.processes import Process
from tests.support.seeds import SEED

pytestmark = pytest.mark.slow
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("INTERVAL '1 day 2 hours'", "1 day 02:00:00"),
        ("INTERVAL '0 seconds'", "00:00:00"),
        ("INTERVAL '36 hours'", "36:00:00"),
        ("INTERVAL '0.25 seconds'", "00:00:00.25"),
        ("INTERVAL '-1 seconds'", "-00:00:01"),
        ("INTERVAL '1 day' - INTERVAL '1 hour'", "1 day -01:00:00"),
        ("INTERVAL '1 hour' - INTERVAL '2 day'", "-2 days +01:00:00"),
        ("INTERVAL '14 months 3 days'", "1 year 2 mons 3 days"),
        ("INTERVAL '1 day' - INTERVAL '14 months'", "-1 years -2 mons +1 day"),
        ("TIME '03:04:05.5'", "03:04:05.5"),
        ("TIME '00:00:00'", "00:00:00"),
        ("TIMESTAMP_NS '2024-01-01 00:00:00.123456789'", "2024-01-01 00:00:00.123456"),
    ],
)
def test_times_and_intervals_have_the_text_of_postgresql(client: psycopg.Connection, literal: str, text: str) -> None:
    with client.cursor() as cursor:
        cursor.execute(f"SELECT {literal}".encode())
        assert cursor.pgresult is not None
        assert cursor.pgresult.get_value(0, 0) == text.encode()


def test_times_and_intervals_are_equal_in_text_and_binary_form(client: psycopg.Connection) -> None:
    chance = random.Random(SEED)
    intervals = [
        f"to_months({chance.randint(-40, 40)}) + to_days({chance.randint(-40, 40)})"
        f" + to_microseconds({chance.choice([0, 1, 10**6, 10**9]) * chance.randint(-99_999, 99_999)})"
        for _ in range(200)
    ]
    times = [f"TIME '00:00:00' + to_microseconds({chance.randrange(86_400 * 10**6)})" for _ in range(50)]
    query = f"SELECT {', '.join([*intervals, *times])}".encode()
    in_text, in_binary = (client.execute(query, binary=binary).fetchone() for binary in (False, True))
    assert in_text == in_binary
    assert in_text is not None
    assert all(isinstance(value, timedelta) for value in in_text[: len(intervals)])
    assert all(isinstance(value, time) for value in in_text[len(intervals) :])


DECIMALS = ["0", "1.5", "-1.5", "0.000000001", "12345678901234567890.123456789", "10000", "-9999", "0.0001"]


@pytest.mark.parametrize("form", ["%t", "%b"])
def test_parameters_are_equal_in_text_and_binary_form(client: psycopg.Connection, form: str) -> None:
    numbers = [Decimal(text) for text in DECIMALS]
    asked = ", ".join(f"CAST({form} AS DECIMAL(38, 9))" for _ in numbers)
    assert client.execute(f"SELECT {asked}".encode(), numbers).fetchone() == tuple(numbers)
    identity = uuid.UUID("550e8400-e29b-41d4-a716-446655440000")
    asked = f"SELECT CAST({form} AS VARCHAR), typeof({form})"
    assert client.execute(asked.encode(), (identity, identity)).fetchone() == (str(identity), "UUID")
    for content in (b"\0\xff'a\\", b""):
        assert client.execute(f"SELECT {form}".encode(), (content,)).fetchone() == (content,)


LISTS: Sequence[list[Any]] = (
    ["ann", "bob"],
    ['a "b" \\ {c}, d', "NULL", "", None, "ö'"],
    [1, 300, 70_000, 1 << 40],
    [NOON, NOON + timedelta(days=1)],
    [date(2024, 5, 1)],
    [Decimal("1.5")],
    [True, False],
    [],
)


@pytest.mark.parametrize("form", ["%t", "%b"])
@pytest.mark.parametrize("values", LISTS)
def test_lists_are_parameters_and_results(client: psycopg.Connection, form: str, values: list[Any]) -> None:
    is_text = all(isinstance(value, str | None) for value in values)
    item = f"CAST({form} AS VARCHAR[])" if is_text else form
    asked = f"SELECT {item} AS items, list(item) FROM (SELECT unnest({item}) AS item)"  # noqa: S608 - ours
    (row,) = client.execute(asked.encode(), (values, values), binary=form == "%b")
    assert row == (values, values or None)


def test_users_are_selected_by_a_list(client: psycopg.Connection) -> None:
    asked = "SELECT count(DISTINCT user_id) FROM page_views WHERE user_id = ANY(%s)"
    assert client.execute(asked, (["ann", "bob"],)).fetchone() == (2,)
    assert client.execute(asked, (["ann"],)).fetchone() == (1,)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="one dimension"):
        client.execute(asked, ([["ann"], ["bob"]],))


async def fetched(port: int, asked: str, *values: object) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(address(port))
    try:
        return [tuple(row) for row in await connection.fetch(asked, *values)]
    finally:
        await connection.close()


WINDOWS = "SELECT sum(page_views)::int FROM page_views WHERE "


@pytest.mark.parametrize(
    ("asked", "values", "row"),
    [
        ("SELECT $1::int + 1", (3,), (4,)),
        (
            "SELECT $1::timestamptz, $2::date, $3::decimal(5, 2), $4::float8, $5::bool, $6::interval, $7::time, $8",
            values := (NOON, date(2024, 1, 1), Decimal("1.25"), 1.5, True, timedelta(1, 7200), time(3, 4), "a'b"),
            values,
        ),
        (WINDOWS + "window_start >= $1 AND user_id = $2", (NOON, "ann"), (4,)),
        (WINDOWS + "$1 <= window_start AND page_views > $2", (NOON, 0), (7,)),
        (WINDOWS + "window_start BETWEEN $1 AND $2", (NOON, NOON + timedelta(hours=1)), (7,)),
        (WINDOWS + "date_trunc('hour', window_start) = $1", (NOON,), (7,)),
        (WINDOWS + "user_id IN ($1, $2)", ("ann", "bob"), (7,)),
        (WINDOWS + "user_id = ANY($1)", (["ann", "bob"],), (7,)),
        (WINDOWS + "user_id = ANY($1::text[])", (["bob"],), (3,)),
        ("SELECT v.user_id FROM page_views AS v ORDER BY 1 LIMIT $1 OFFSET $2", (1, 4), ("bob",)),
        ("SELECT $1", ("text",), ("text",)),
    ],
)
def test_asyncpg_learns_the_types_of_parameters(
    server: tuple[int, Process], asked: str, values: tuple[object, ...], row: tuple[object, ...]
) -> None:
    assert asyncio.run(fetched(server[0], asked, *values)) == [row]


def test_columns_whose_type_is_not_as_described_are_refused(server: tuple[int, Process]) -> None:
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="cast it"):
        asyncio.run(fetched(server[0], "SELECT max($1) FROM page_views", "text"))
    assert asyncio.run(fetched(server[0], "SELECT max($1::text) FROM page_views", "text")) == [("text",)]
    assert asyncio.run(fetched(server[0], "SELECT $1, $2::int", None, None)) == [(None, None)]
