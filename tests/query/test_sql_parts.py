"""The parts of the SQL server without a client: what it refuses, parameters, values and the log-in."""

import base64
import hashlib
import hmac
import json
import struct
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
from psycopg.adapt import PyFormat, Transformer

from tests.query.refused_statements import REFUSED
from tidemark.pipeline.sql_server.allowed import reading
from tidemark.pipeline.sql_server.literals import literal_of
from tidemark.pipeline.sql_server.parameter_types import parameter_types
from tidemark.pipeline.sql_server.pg_types import TEXT, oid_of
from tidemark.pipeline.sql_server.pg_values import columns_of, rows_of
from tidemark.pipeline.sql_server.scram import Scram
from tidemark.pipeline.sql_server.wire import Refused

VIEWS = ("page_views", "ledger")
CHECKED_ELSEWHERE = ("SELECT getenv", "SELECT reflect", "SELECT java_method", "SELECT 1;", "SELECT * FROM page_views F")
"""Functions are absent from the engine, and of several statements each is judged."""
DAY = date(2024, 5, 1)
NOON = datetime(2024, 5, 1, 12, 0, 0, 250_000, UTC)
VALUES: Mapping[str, tuple[list[Any], pa.DataType]] = {
    "BOOLEAN": ([True, False, None], pa.bool_()),
    "BIGINT": ([0, -1, 1 << 40], pa.int64()),
    "DOUBLE": ([0.5, -1e300], pa.float64()),
    "DECIMAL(38,9)": ([Decimal("-12345.000000001"), Decimal(10000), Decimal(0)], pa.decimal128(38, 9)),
    "DATE": ([DAY, date(1969, 12, 31)], pa.date32()),
    "TIMESTAMP WITH TIME ZONE": ([NOON, NOON - timedelta(days=50_000)], pa.timestamp("us", "UTC")),
    "TIME": ([time(3, 4, 5, 6)], pa.time64("us")),
    "VARCHAR": (['ann\'s \\ "ö"', "", "NULL"], pa.string()),
}


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect(":memory:")
    engine.execute("SET TimeZone = 'UTC'")
    return engine


def test_statements_that_do_more_than_read_views_are_refused(engine: duckdb.DuckDBPyConnection) -> None:
    for statement in REFUSED:
        if not statement.startswith(CHECKED_ELSEWHERE):
            with pytest.raises(Refused):
                reading(engine, statement, VIEWS)


def test_statements_that_read_views_are_taken_as_they_are(engine: duckdb.DuckDBPyConnection) -> None:
    for statement in (
        "SELECT * FROM page_views",
        "SELECT * FROM Page_Views",
        "WITH Ours AS (SELECT 1) SELECT * FROM ours",
        "EXPLAIN ANALYZE SELECT * FROM tidemark.main.ledger",
        "SELECT * FROM pg_catalog.pg_index",
        "SELECT * FROM range(3)",
        "SELECT numbers.range FROM range(3) AS numbers",
    ):
        assert reading(engine, statement, VIEWS) == statement
    for adapted, row in {
        "SELECT 2 = ANY('{1,2}'), 2 = ANY('{1,NULL}'), 2 <> ALL('{}'), 2 > ANY('{1,3}'), 2 > ALL('{1,3}')": (
            *(True, None, True, True, False),
        ),
        """SELECT '{"a b", NULL,"NULL","\\"\\\\",it''s}'::TEXT[], CAST('{1}' AS INT[]), '[2]'::INT[], '{}'::INT[]""": (
            *(["a b", None, "NULL", '"\\', "it's"], [1], [2], []),
        ),
        r"SELECT '\x006aFF'::BLOB, '\x41'::BLOB, 'a\x42'::BLOB, '\x41\x42'::BLOB": (b"\0j\xff", b"A", b"aB", b"AB"),
        "SELECT 'a' = ANY(['a']), '{a}'": (True, "{a}"),
    }.items():
        assert engine.execute(reading(engine, adapted, VIEWS)).fetchone() == row
    assert "'2'" in reading(engine, "EXPLAIN SELECT 2 = ANY('{2}')", VIEWS)
    with pytest.raises(Refused, match="one dimension"):
        reading(engine, "SELECT '{{1}}'::INT[]", VIEWS)
    named = reading(engine, "SELECT day FROM generate_series(1, 2) day", VIEWS)
    assert engine.execute(named).fetchall() == [(1,), (2,)]


@pytest.mark.parametrize("form", [PyFormat.TEXT, PyFormat.BINARY])
@pytest.mark.parametrize("name", VALUES)
def test_parameters_as_psycopg_sends_them_are_literals_of_the_same_value(
    engine: duckdb.DuckDBPyConnection, name: str, form: PyFormat
) -> None:
    values, _ = VALUES[name]
    for value in [*values, uuid.UUID(int=7), [item for item in values if item is not None]]:
        sender = Transformer()
        (sent,) = sender.dump_sequence([value], [form])
        # psycopg leaves the type of texts open, and the server infers it from the statement.
        assert sender.types is not None
        oid = sender.types[0] or oid_of("VARCHAR", is_list=isinstance(value, list))
        literal = literal_of(None if sent is None else bytes(sent), oid, int(form is PyFormat.BINARY))
        assert engine.execute(reading(engine, f"SELECT {literal}", ())).to_arrow_table().column(0).to_pylist() == [
            str(value) if isinstance(value, uuid.UUID) else value
        ], literal


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("name", VALUES)
def test_psycopg_reads_the_values_that_are_sent(name: str, form: int) -> None:
    values, kind = VALUES[name]
    lists = [[*values, None], [], None][: len(values)]
    arrays = [pa.array(values, kind), pa.array(lists, pa.list_(kind))]
    batch = pa.RecordBatch.from_arrays(arrays, ["value", "list"])
    columns = columns_of(batch.schema)
    assert [column.oid for column in columns] == [oid_of(name), oid_of(name, is_list=True)]
    read_value, read_list = (Transformer().get_loader(column.oid, psycopg.pq.Format(form)).load for column in columns)
    rows = [*rows_of(batch, [form, form])]
    assert [None if value is None else read_value(value) for value, _ in rows] == values
    assert [None if items is None else read_list(items) for _, items in rows] == lists


def test_lists_that_are_no_arrays_of_postgresql_are_json() -> None:
    nested = pa.array([[[1], [2, 3]], None])
    fixed = pa.array([["a", None], None, ["b", "c"]], pa.list_(pa.string(), 2))
    assert columns_of(pa.schema({"nested": nested.type}))[0].oid == TEXT
    assert [*rows_of(pa.RecordBatch.from_arrays([nested], ["nested"]), [0])] == [(b"[[1], [2, 3]]",), (None,)]
    assert [*rows_of(pa.RecordBatch.from_arrays([fixed], ["fixed"]), [0])] == [(b"{a,NULL}",), (None,), (b"{b,c}",)]
    (binary, *_) = rows_of(pa.RecordBatch.from_arrays([fixed], ["fixed"]), [1])
    assert binary == (struct.pack("!5ii1si", 1, 1, TEXT, 2, 1, 1, b"a", -1),)


def test_a_time_of_the_year_10000_is_a_text_as_postgresql_writes_it() -> None:
    ends = pa.array([253_402_300_800_000, 253_402_300_799_999], pa.timestamp("ms", "Europe/Berlin"))
    texts = [*rows_of(pa.RecordBatch.from_arrays([ends], ["window_end"]), [0])]
    assert texts == [(b"10000-01-01 01:00:00+01",), (b"10000-01-01 00:59:59.999+01",)]


def test_open_parameters_have_the_types_of_what_they_are_compared_with(engine: duckdb.DuckDBPyConnection) -> None:
    columns = {"user_id": "VARCHAR", "page_views": "BIGINT"}
    for condition, types in {
        "user_id = $1 AND page_views BETWEEN $2 AND $3": ("VARCHAR", "BIGINT", "BIGINT"),
        "page_views IN ($1, 2) AND max(user_id) > $2": ("BIGINT", "VARCHAR"),
        "$1::DATE = '2024-05-01'": ("DATE",),
        "true LIMIT $1": ("BIGINT",),
    }.items():
        statement = f"SELECT * FROM page_views WHERE {condition}"  # noqa: S608 - ours
        (serialized,) = engine.execute("SELECT json_serialize_sql(?)", [statement]).fetchone() or ("",)
        assert parameter_types(serialized, columns) == {
            number: oid_of(kind) for number, kind in enumerate(types, start=1)
        }, json.loads(serialized)


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")


def test_a_client_that_knows_the_password_is_let_in_and_no_other() -> None:
    """The client's part is written after RFC 5802, section 3."""
    for sent, known, is_right in (("sesame", True, True), ("sesam", True, False), ("sesame", False, False)):
        server = Scram("sesame", known=known)
        challenge = server.challenge("n,,n=ann,r=once")
        assert challenge is not None
        asked = dict(part.split("=", 1) for part in challenge.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", sent.encode(), base64.b64decode(asked["s"]), int(asked["i"]))
        without = f"c=biws,r={asked['r']}"
        exchanged = f"n=ann,r=once,{challenge},{without}"
        key = _mac(salted, "Client Key")
        signature = _mac(hashlib.sha256(key).digest(), exchanged)
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        verifier = base64.b64encode(_mac(_mac(salted, "Server Key"), exchanged)).decode()
        assert server.final(f"{without},p={proof}") == (f"v={verifier}" if is_right else None)
    assert Scram("sesame", known=True).challenge("p=tls-unique,,n=ann,r=once") is None
