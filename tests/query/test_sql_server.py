"""`tidemark sql-server` as a process, asked by clients of PostgreSQL: what they may see, and all that they may not."""

import re
import socket
import struct
from contextlib import ExitStack, suppress
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.pq import DiagnosticField, TransactionStatus
from psycopg.rows import dict_row

from tests.query.refused_statements import REFUSED
from tests.query.sql_clients import MARK, PASSWORD, address, needs_psql, psql
from tests.support.flood import is_ended
from tests.support.processes import Process
from tests.support.sockets import Address, family, listening
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.site import Site
from tidemark.pipeline.cli import main

pytestmark = pytest.mark.slow


def test_a_client_asks_the_views(client: psycopg.Connection) -> None:
    views = {row[0] for row in client.execute("SHOW TABLES")}
    assert views == {"dead_letters", "ledger", "page_views", "page_views_live"}
    asked = "SELECT user_id, sum(page_views) AS views FROM page_views GROUP BY 1 ORDER BY 1"
    assert client.execute(asked).fetchall() == [("ann", 4), ("bob", 3)]
    states = "SELECT state, count(*) FROM page_views_live GROUP BY 1 ORDER BY 1"
    assert client.execute(states).fetchall() == [("closed", 4), ("fired", 1), ("open", 2)]
    (first,) = client.execute("SELECT min(window_start) FROM page_views").fetchone() or (None,)
    assert first == datetime(2024, 5, 1, 12, tzinfo=UTC)
    described = {row[0]: row[1] for row in client.execute("DESCRIBE page_views")}
    assert described["window_start"] == "TIMESTAMP WITH TIME ZONE"
    assert client.execute("EXPLAIN SELECT * FROM page_views").fetchall()


@pytest.mark.parametrize("binary", [False, True])
def test_values_come_as_they_are_in_both_forms_with_parameters(client: psycopg.Connection, binary: bool) -> None:
    with client.cursor(binary=binary, row_factory=dict_row) as cursor:
        cursor.execute(
            "SELECT %s::int AS int, %s AS text, 2.50::decimal(9, 2) AS decimal, -12345678.9::decimal(20, 1) AS longer, "
            "0.0003::decimal(9, 4) AS small, 1.5::double AS double, true AS yes, DATE '1999-12-31' AS day, "
            "'\\xAA'::blob AS bytes, NULL AS nothing, TIMESTAMPTZ '2024-05-01 12:00:00.25Z' AS time, %s AS quoted",
            (7, "bö'b", "$1 -- '"),
        )
        (row,) = cursor.fetchall()
    values = {name: str(value) if name in ("decimal", "longer", "small") else value for name, value in row.items()}
    assert values == {
        "int": 7,
        "text": "bö'b",
        "decimal": "2.50",
        "longer": "-12345678.9",
        "small": "0.0003",
        "double": 1.5,
        "yes": True,
        "day": datetime(1999, 12, 31, tzinfo=UTC).date(),
        "bytes": b"\xaa",
        "nothing": None,
        "time": datetime(2024, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC),
        "quoted": "$1 -- '",
    }
    users = client.execute("SELECT DISTINCT user_id FROM page_views WHERE user_id = %s", ("bob",), prepare=True)
    assert users.fetchall() == [("bob",)]


@pytest.mark.parametrize(
    ("time", "kind", "text"),
    [
        (datetime(2024, 5, 1, 12, 0, 0, 250_000, UTC), "TIMESTAMP WITH TIME ZONE", "2024-05-01 12:00:00.25+00"),
        (datetime(1999, 12, 31, 23, 59, 59, 999_999), "TIMESTAMP", "1999-12-31 23:59:59.999999"),  # noqa: DTZ001
        (date(1999, 12, 31), "DATE", "1999-12-31"),
        (timedelta(days=2, seconds=3, microseconds=4), "INTERVAL", "2 days 00:00:03.000004"),
        (clock_time(3, 5, 7, 9), "TIME", "03:05:07.000009"),
    ],
)
def test_times_are_parameters(client: psycopg.Connection, time: object, kind: str, text: str) -> None:
    assert client.execute("SELECT typeof(%s), CAST(%s AS VARCHAR)", (time, time)).fetchall() == [(kind, text)]


def test_an_hour_of_windows_is_asked_by_times(client: psycopg.Connection) -> None:
    start = datetime(2024, 5, 1, 12, tzinfo=UTC)
    asked = "SELECT sum(page_views) FROM page_views WHERE window_start >= %s AND window_start < %s"
    assert client.execute(asked, (start, start + timedelta(hours=1))).fetchall() == [(7,)]
    assert client.execute(asked, (start + timedelta(days=1), start + timedelta(days=2))).fetchall() == [(None,)]


def test_a_long_answer_comes_in_portions(client: psycopg.Connection) -> None:
    with client.cursor() as cursor:
        numbers = [row[0] for row in cursor.stream("SELECT range FROM range(5000)")]
    assert numbers == [*range(5000)]


def test_a_named_cursor_fetches_in_portions(server: tuple[int, Process], client: psycopg.Connection) -> None:
    asked = "SELECT range + %s AS number FROM range(3000)"
    with psycopg.connect(address(server[0])) as connection:
        with connection.cursor("a b") as cursor, connection.cursor(name="other", withhold=True) as held:
            cursor.execute(asked, (10,))
            held.execute(asked, (0,))
            assert cursor.fetchone() == (10,)
            assert connection.execute("SELECT 1").fetchone() == (1,)
            assert cursor.fetchmany(1500) == [(number,) for number in range(11, 1511)]
            connection.commit()
            assert held.fetchall() == [(number,) for number in range(3000)]
        with connection.cursor("binary") as cursor:
            cursor.execute(asked, (1,), binary=True)
            cursor.scroll(2998)
            assert cursor.fetchall() == [(2999,), (3000,)]
            assert cursor.description[0].name == "number" if cursor.description else False
    client.execute(b"BEGIN; DECLARE c CURSOR FOR SELECT * FROM page_views ORDER BY ALL; FETCH 2 FROM c; MOVE ALL IN c")
    assert client.execute("FETCH c").fetchall() == []
    client.execute(b"CLOSE c; COMMIT")
    for refused, code in (
        (b"DECLARE c CURSOR FOR SELECT 1", "25P01"),
        (b"DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT 1", "0A000"),
        (b"DECLARE c CURSOR WITH HOLD FOR DELETE FROM ledger", "42501"),
        (b"BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT 1; FETCH BACKWARD 1 FROM c", "55000"),
        (b"BEGIN; DECLARE c CURSOR FOR SELECT 1; COMMIT; FETCH c", "34000"),
    ):
        with pytest.raises(psycopg.Error) as error:
            client.execute(refused)
        assert error.value.sqlstate == code
        client.execute("ROLLBACK")


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_a_tool_finds_the_views_and_their_columns(server: tuple[int, Process], driver: str) -> None:
    """As Superset does, by SQLAlchemy."""
    engine = sa.create_engine(address(server[0]).replace("postgresql", f"postgresql+{driver}"))
    found = sa.inspect(engine)
    assert {"page_views", "page_views_live", "ledger"} <= {*found.get_view_names()}
    assert found.get_table_names() == []
    columns = {column["name"]: str(column["type"]) for column in found.get_columns("page_views")}
    assert columns["window_start"] == "TIMESTAMP"
    assert columns["page_views"] == "BIGINT"
    assert not found.get_indexes("page_views")
    assert not found.get_foreign_keys("page_views")
    reflected = sa.MetaData()
    reflected.reflect(engine, views=True)
    assert {*reflected.tables} == {"dead_letters", "ledger", "page_views", "page_views_live"}
    views = sa.table("page_views", sa.column("page_views"), sa.column("user_id"))
    with engine.connect() as connection:
        asked = sa.select(sa.func.sum(views.c.page_views)).where(views.c.user_id == "ann")
        assert connection.execute(asked).scalar() == 4
        streamed = connection.execution_options(yield_per=2).execute(sa.select(reflected.tables["page_views"]))
        assert len(streamed.all()) == 5
    engine.dispose()


@needs_psql
def test_psql_describes_the_views(server: tuple[int, Process]) -> None:
    commands = (r"\d", r"\d page_views", r"\d+ page_views", r"\l", r"\du", r"\dn", r"\dv+", r"\z")
    listed, described, longer, databases, roles, schemas, _, _ = ("\n".join(psql(server[0], each)) for each in commands)
    assert listed.count("|view|tidemark") == 4
    assert "window_start|timestamp with time zone|" in described
    assert "Start of the window" in longer
    assert databases.startswith("tidemark|tidemark|UTF8|")
    assert roles.startswith("tidemark|")
    assert schemas == "main|tidemark"


@pytest.mark.parametrize("statement", REFUSED)
def test_statements_that_do_more_than_read_views_are_refused(client: psycopg.Connection, statement: str) -> None:
    for prepare in (False, True):
        with pytest.raises(psycopg.Error) as refused:
            client.execute(statement.encode(), prepare=prepare)
        assert MARK not in str(refused.value)
        assert "root:" not in str(refused.value)
    assert not Path("stolen").exists()


def test_the_state_of_a_transaction_is_reported_to_the_client(client: psycopg.Connection) -> None:
    states = []
    for statement in (b"BEGIN", b"SELECT nonsense FROM page_views", b"ROLLBACK"):
        with suppress(psycopg.ProgrammingError):
            client.execute(statement)
        states.append(client.info.transaction_status)
    assert states == [TransactionStatus.INTRANS, TransactionStatus.INERROR, TransactionStatus.IDLE]
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_a_statement_can_be_cancelled(client: psycopg.Connection) -> None:
    asked = b"SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range % 7 = b.range % 11"
    client.pgconn.send_query(asked)
    client.pgconn.flush()
    while client.pgconn.is_busy():
        client.cancel_safe()
        client.pgconn.consume_input()
    result = client.pgconn.get_result()
    assert result is not None
    assert result.error_field(DiagnosticField.SQLSTATE) == b"57014"
    assert client.pgconn.get_result() is None


@pytest.mark.parametrize(("user", "password"), [("tidemark", "wrong"), ("tidemark", ""), ("root", PASSWORD)])
def test_a_client_without_user_and_password_is_refused(server: tuple[int, Process], user: str, password: str) -> None:
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(address(server[0], user, password))


def test_connections_that_do_not_log_in_keep_no_client_out(server: tuple[int, Process]) -> None:
    with ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server[0]), PATIENCE_S)) for _ in range(100)
        ]
        with psycopg.connect(address(server[0])) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            assert is_ended(silent[0])
            assert connection.execute("SELECT 2").fetchone() == (2,)


def test_nothing_is_answered_before_the_log_in(server: tuple[int, Process]) -> None:
    start = struct.pack("!i", 3 << 16) + b"user\0tidemark\0\0"
    query = b"SELECT user_id FROM page_views\0"
    with socket.create_connection(("127.0.0.1", server[0]), PATIENCE_S) as stranger:
        stranger.sendall(struct.pack("!i", len(start) + 4) + start)
        stranger.sendall(b"Q" + struct.pack("!i", len(query) + 4) + query)
        answer = b""
        while piece := stranger.recv(4096):
            answer += piece
    assert b"FATAL" in answer
    assert b"ann" not in answer


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"\x7f\xff\xff\xff",
        b"\xff\xff\xff\xff",
        b"\0\0\0\0",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\x08\0\x03\0\0",
        b"\x12\x34\x56\x78" * 16,
    ],
)
def test_bytes_that_are_no_start_are_refused(server: tuple[int, Process], bytes_sent: bytes) -> None:
    answer = b""
    with socket.create_connection(("127.0.0.1", server[0]), PATIENCE_S) as stranger, suppress(OSError):
        stranger.sendall(bytes_sent)
        stranger.shutdown(socket.SHUT_WR)
        while piece := stranger.recv(4096):
            answer += piece
    assert not answer or b"FATAL" in answer


def test_the_server_listens_only_on_its_configured_address(server: tuple[int, Process]) -> None:
    assert listening(*family(server[1].popen.pid)) == {Address("127.0.0.1", server[0])}


def test_its_log_has_the_format_of_the_other_commands(server: tuple[int, Process]) -> None:
    assert re.search(r"^\d{4}-\d\d-\d\dT\S+Z \[info", server[1].said, re.MULTILINE), server[1].said


def test_rows_that_came_since_are_seen(site: Site, client: psycopg.Connection) -> None:
    def batches() -> int:
        (count,) = client.execute("SELECT count(DISTINCT batch) FROM ledger").fetchone() or (0,)
        return int(count)

    before = batches()
    site.batch(*[])
    wait_for(lambda: batches() > before, PATIENCE_S, "a batch that was committed meanwhile")


def test_an_address_that_is_taken_is_exit_code_2(
    site: Site, server: tuple[int, Process], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql-server", f"--warehouse={site.warehouse}", f"--port={server[0]}"]) == 2
    assert f"cannot listen on 127.0.0.1:{server[0]}: " in capsys.readouterr().err


def test_other_machines_need_a_password(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = ["sql-server", f"--warehouse={site.warehouse}", "--host=0.0.0.0"]
    assert main(there) == 2
    assert "is reached from other machines" in capsys.readouterr().err
    (tmp_path / "password").write_text("short")
    assert main([*there, f"--password-file={tmp_path / 'password'}"]) == 2
    assert "at least 16 characters" in capsys.readouterr().err


def test_no_warehouse_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql-server", f"--warehouse={tmp_path}", "--port=0"]) == 2
    assert "there is no Tidemark warehouse" in capsys.readouterr().err
