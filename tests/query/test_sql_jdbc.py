"""PostgreSQL's JDBC driver as a client of `tidemark sql-server`: what DBeaver, Metabase and other tools ask by it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from tests.query.sql_clients import PASSWORD
from tests.support.brief_java import BRIEF_JVM
from tests.support.processes import Process
from tidemark.pipeline.runtime.jars import cache, listed, mirror, provide
from tidemark.pipeline.runtime.java import find_java

pytestmark = pytest.mark.jvm
LOCK = Path(__file__).parents[2] / "dev" / "jdbc.lock"
MODES = {
    "text": {},
    "binary": {"prepareThreshold": "-1"},
    "simple": {"preferQueryMode": "simple"},
}
"""How the driver asks: in portions of the extended protocol, in binary form at once, and by single messages."""


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    (driver,) = provide(listed(LOCK, "jdbc"), cache(), mirror())
    (py4j,) = Path(pyspark.__file__).parent.glob("jars/py4j-*.jar")
    options = {"jarpath": str(py4j), "classpath": str(driver), "java_path": str(find_java() / "bin" / "java")}
    port = launch_gateway(javaopts=[BRIEF_JVM, "-Duser.timezone=Europe/Berlin"], die_on_exit=True, **options)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()


@pytest.fixture(params=MODES)
def connection(jvm: Any, server: tuple[int, Process], request: pytest.FixtureRequest) -> Iterator[Any]:
    properties = jvm.java.util.Properties()
    for name, value in {"user": "tidemark", "password": PASSWORD, **MODES[request.param]}.items():
        properties.setProperty(name, value)
    opened = jvm.java.sql.DriverManager.getConnection(f"jdbc:postgresql://127.0.0.1:{server[0]}/tidemark", properties)
    try:
        yield opened
    finally:
        opened.close()


def rows(result: Any, *columns: str) -> list[tuple[str | None, ...]]:
    """Returns the rows of a result as texts, or some of its columns."""
    names = columns or range(1, result.getMetaData().getColumnCount() + 1)
    found = []
    while result.next():
        found.append(tuple(result.getString(name) for name in names))
    return found


def prepared(connection: Any, asked: str, fill: Callable[[Any], object]) -> list[tuple[str | None, ...]]:
    statement = connection.prepareStatement(asked)
    fill(statement)
    return rows(statement.executeQuery())


def test_a_tool_lists_and_asks_the_views(connection: Any) -> None:
    described = connection.getMetaData()
    views = rows(described.getTables(None, None, "%", None), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE")
    assert {row for row in views if row[0] == "main"} == {
        ("main", name, "VIEW") for name in ("dead_letters", "ledger", "page_views", "page_views_live")
    }
    columns = rows(described.getColumns(None, "main", "page_views", "%"), "COLUMN_NAME", "TYPE_NAME")
    assert {("window_start", "timestamptz"), ("page_views", "int8")} <= {*columns}
    assert rows(described.getPrimaryKeys(None, "main", "page_views")) == []
    assert rows(described.getIndexInfo(None, "main", "page_views", False, False)) == []
    assert rows(described.getImportedKeys(None, "main", "page_views")) == []
    assert ("interval",) in rows(described.getTypeInfo(), "TYPE_NAME")
    asked = "SELECT user_id, sum(page_views) FROM page_views GROUP BY 1 ORDER BY 1"
    assert rows(connection.createStatement().executeQuery(asked)) == [("ann", "4"), ("bob", "3")]


def test_values_are_parameters_and_results(jvm: Any, connection: Any) -> None:
    asked = "SELECT sum(page_views) FROM page_views WHERE window_start >= ? AND user_id = ? AND page_views > ?"

    def fill(statement: Any) -> None:
        statement.setTimestamp(1, jvm.java.sql.Timestamp(1714564800000))  # 2024-05-01T12:00Z
        statement.setString(2, "ann")
        statement.setInt(3, 0)

    assert prepared(connection, asked, fill) == [("4",)]
    assert prepared(connection, "SELECT ?", lambda statement: statement.setString(1, "a'b")) == [("a'b",)]
    asked = (
        "SELECT INTERVAL '1 day 2 hours', TIME '03:04:05.5', DATE '2024-01-01', 1.50::decimal(5, 2), "
        "TIMESTAMPTZ '2024-05-01 12:00:00Z'"
    )
    result = connection.createStatement().executeQuery(asked)
    types = [result.getMetaData().getColumnTypeName(column) for column in range(1, 6)]
    assert types == ["interval", "time", "date", "numeric", "timestamptz"]
    (row,) = rows(result)
    assert row[0] is not None
    assert row[0].endswith("1 days 2 hours 0 mins 0.0 secs") or row[0] == "1 day 02:00:00"
    assert row[1:] == ("03:04:05.5", "2024-01-01", "1.50", "2024-05-01 14:00:00+02")


def test_arrays_are_parameters_and_results(jvm: Any, connection: Any) -> None:
    def users(condition: str, kind: str, values: list[Any]) -> list[tuple[str | None, ...]]:
        items = jvm.java.util.ArrayList()
        for value in values:
            items.add(value)
        array = connection.createArrayOf(kind, items.toArray())
        asked = f"SELECT user_id FROM page_views WHERE {condition} ORDER BY 1"  # noqa: S608 - ours
        return prepared(connection, asked, lambda statement: statement.setArray(1, array))

    assert users("page_views = ANY(?)", "int8", [2]) == [("ann",), ("bob",)]
    assert users("page_views > ANY(?)", "int4", [1]) == [("ann",), ("bob",)]
    assert users("user_id = ANY(?)", "text", ["bob", 'b"o, {\\']) == [("bob",), ("bob",)]
    assert len(users("user_id <> ALL(?)", "text", [])) == 5
    result = connection.createStatement().executeQuery("SELECT array_agg(page_views), ['a b', NULL] FROM page_views")
    result.next()
    numbers, texts = result.getArray(1), result.getArray(2)
    assert (numbers.getBaseTypeName(), sorted(numbers.getArray())) == ("int8", [1, 1, 1, 2, 2])
    assert [*texts.getArray()] == ["a b", None]


def test_the_zone_is_that_of_the_machine_and_days_are_its_own(connection: Any) -> None:
    asked = "SELECT CAST(date_trunc('day', TIMESTAMPTZ '2024-05-01 22:30:00Z') AS VARCHAR)"
    assert rows(connection.createStatement().executeQuery(asked)) == [("2024-05-02 00:00:00+02",)]


def test_rows_come_in_portions_and_a_query_ends_at_its_timeout(connection: Any) -> None:
    connection.setAutoCommit(False)
    statement = connection.createStatement()
    statement.setFetchSize(10)
    asked = "SELECT range FROM range(95)"
    assert rows(statement.executeQuery(asked)) == [(str(number),) for number in range(95)]
    connection.commit()
    statement.setQueryTimeout(1)
    with pytest.raises(Py4JJavaError) as ended:
        statement.executeQuery("SELECT count(*) FROM range(1000000000000000) a WHERE a.range % 7 = 8")
    assert ended.value.java_exception.getSQLState() == "57014"
    connection.rollback()
    assert connection.isValid(0)
