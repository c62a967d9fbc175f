"""Numbers and texts of fields are displayed alike by Arrow, by every engine of readers, and of a single event."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import duckdb
import pyarrow as pa
import pytest
from deltalake import QueryBuilder

from tests.support.spark_reader import spark_reader
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function, measures_of
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.measures import NO_NUMBER, Join, Measure
from tidemark.pipeline.results.measure_display import displayed, displayed_sql, exact
from tidemark.pipeline.results.measure_sql import joined_sql
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.schemas import result_of

NONE_LEAST, NONE_MOST = NO_NUMBER[Join.MIN], NO_NUMBER[Join.MAX]


def by_duckdb(sql: str) -> pa.Table:
    return duckdb.sql(sql).to_arrow_table()


def by_data_fusion(sql: str) -> pa.Table:
    return pa.table(QueryBuilder().execute(sql))


def by_spark(sql: str) -> pa.Table:
    return spark_reader().sql(sql)


READERS: Final[dict[Engine, Callable[[str], pa.Table]]] = {
    Engine.DUCKDB: by_duckdb,
    Engine.DELTA_RS: by_data_fusion,
    Engine.SPARK: by_spark,
}
ENGINES: Final = [Engine.DUCKDB, Engine.DELTA_RS, pytest.param(Engine.SPARK, marks=pytest.mark.jvm)]
CASES: Final[list[tuple[Function, int, list[tuple[Any, ...]], list[Any]]]] = [
    (Function.SUM, 0, [(0,), (-5,), (9 * 10**18,)], [0, -5, 9 * 10**18]),
    (Function.SUM, 2, [(0,), (-1234,), (9 * 10**18,)], [Decimal(0), Decimal("-12.34"), Decimal(9 * 10**16)]),
    (Function.SUM, 9, [(1,), (-(9 * 10**18),)], [Decimal("1e-9"), Decimal(-9 * 10**9)]),
    (Function.MIN, 0, [(NONE_LEAST,), (10**18,), (NONE_MOST,)], [None, 10**18, NONE_MOST]),
    (Function.MIN, 3, [(NONE_LEAST,), (-7,)], [None, Decimal("-0.007")]),
    (Function.MAX, 9, [(NONE_MOST,), (10**18,)], [None, Decimal(10**9)]),
    (Function.AVG, 0, [(0, 0), (7, 2), (-1, 3)], [None, 3.5, -1 / 3]),
    (Function.AVG, 2, [(0, 0), (1234, 1), (100, 3)], [None, 12.34, 100 / 300]),
    (Function.FIRST, 0, [("~",), (f"{5:019d} a b",), (f"{5:019d} ",)], [None, "a b", ""]),
    (Function.LAST, 0, [("",), (f"{5:019d}  \u00fc",), (f"{5:019d} ",)], [None, " \u00fc", ""]),
]


def measure_of(function: Function, digits: int) -> tuple[Measure, pa.DataType]:
    """Returns a measure, and the type of its column."""
    own = FieldMeasure("m", function, "price", digits=digits)
    report = Report("r", Grid(1, 1), 0, measures=("m",), field_measures=(own,))
    return measures_of((own,))[0][0], result_of(report).schema.field("m").type


@pytest.mark.parametrize(("function", "digits", "states", "expected"), CASES)
def test_arrow_displays_the_parts(
    function: Function, digits: int, states: list[tuple[Any, ...]], expected: list[Any]
) -> None:
    measure, kind = measure_of(function, digits)
    columns = [
        pa.chunked_array([pa.array(column, part.type)])
        for column, part in zip(zip(*states, strict=True), measure.parts, strict=True)
    ]
    found = displayed(measure, columns)
    assert found.type == kind
    assert found.to_pylist() == expected
    if function in (Function.SUM, Function.MIN, Function.MAX):
        assert [exact(state, measure) for (state,) in states] == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("function", "digits", "states", "expected"), CASES)
def test_engines_display_the_parts(
    function: Function, digits: int, states: list[tuple[Any, ...]], expected: list[Any], engine: Engine
) -> None:
    measure, kind = measure_of(function, digits)
    rows = rows_sql(measure, states)
    of_row = displayed_sql(measure, [part.name for part in measure.parts], engine)
    of_group = displayed_sql(measure, [*map(joined_sql, measure.parts)], engine)
    for sql in (
        f"SELECT {of_row} AS m FROM ({rows}) AS rows ORDER BY n",  # noqa: S608 - ours
        f"SELECT {of_group} AS m FROM ({rows}) AS rows GROUP BY n ORDER BY n",  # noqa: S608 - ours
    ):
        found = READERS[engine](sql)["m"]
        assert found.to_pylist() == expected
        assert found.type in (kind, pa.string_view(), pa.large_string())


def rows_sql(measure: Measure, states: Sequence[tuple[Any, ...]]) -> str:
    """Returns SQL of rows with a number `n` and the parts of the measure."""
    columns = ["n", *(part.name for part in measure.parts)]
    rows = (", ".join([str(number), *map(literal, row)]) for number, row in enumerate(states))
    values = ", ".join(f"({row})" for row in rows)
    return f"SELECT * FROM (VALUES {values}) AS given ({', '.join(columns)})"  # noqa: S608 - ours


def literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else f"CAST({value} AS BIGINT)"


def test_a_sum_that_exceeds_64_bits_is_an_error() -> None:
    measure, _ = measure_of(Function.SUM, 2)
    rows = rows_sql(measure, [(9 * 10**18,), (9 * 10**18,)])
    sql = f"SELECT {joined_sql(measure.part)} AS total FROM ({rows}) AS rows"  # noqa: S608 - ours
    with pytest.raises(duckdb.ConversionException, match="18000000000000000000"):
        by_duckdb(sql)
    with pytest.raises(Exception, match="18000000000000000000"):
        by_data_fusion(sql)
