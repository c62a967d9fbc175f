"""The values that results display of the joined parts of measures: in Arrow, and in SQL of each engine."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.pipeline import value_lists
from tidemark.pipeline.ddsketch import quantile
from tidemark.pipeline.measures import NO_NUMBER, TIME_DIGITS, Display, Join, Measure
from tidemark.pipeline.results.result_table import timestamps
from tidemark.pipeline.sketches import estimate
from tidemark.pipeline.tables.engines import Engine

_WHOLE: Final = 19
"""The digits of a number of 64 bits."""
Values = Sequence[pa.ChunkedArray]


def displayed(measure: Measure, joined: Values) -> pa.ChunkedArray:
    """Returns the values of a measure from its joined parts."""
    return _FORMS[measure.display].values(measure, joined)


def displayed_sql(measure: Measure, joined: Sequence[str], engine: Engine) -> str:
    """Returns SQL of a measure from SQL of its joined parts."""
    return _FORMS[measure.display].sql(measure, joined, engine)


def exact(value: int, measure: Measure) -> int | Decimal | None:
    """Returns the number of a measure whose part is `value`."""
    if _is_nullable(measure) and value == NO_NUMBER[measure.part.join]:
        return None
    return Decimal(value).scaleb(-measure.digits) if measure.digits else value


def each(function: Callable[..., object], values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Returns the values of a function of Python, of type `kind`."""
    return pa.chunked_array([pa.array(map(function, values.to_pylist()), kind)])


def _is_nullable(measure: Measure) -> bool:
    """Returns whether a number may be missing: a sum without a value is 0."""
    return measure.part.join is not Join.SUM


def _number_sql(_: Measure, joined: Sequence[str], __: Engine) -> str:
    # The type of the result: DuckDB's sums have 128 bits.
    return f"CAST({joined[0]} AS BIGINT)"


def _text(_: Measure, joined: Values) -> pa.ChunkedArray:
    is_text = pc.greater(pc.utf8_length(joined[0]), TIME_DIGITS)
    return pc.if_else(is_text, pc.utf8_slice_codeunits(joined[0], TIME_DIGITS + 1), None)


def _text_sql(_: Measure, joined: Sequence[str], __: Engine) -> str:
    return f"CASE WHEN length({joined[0]}) > {TIME_DIGITS} THEN substr({joined[0]}, {TIME_DIGITS + 2}) END"


def _exact(measure: Measure, joined: Values) -> pa.ChunkedArray:
    (values,) = joined
    if _is_nullable(measure):
        values = pc.if_else(pc.equal(values, NO_NUMBER[measure.part.join]), None, values)
    return _in_units(values, measure.digits)


def _in_units(values: pa.ChunkedArray, digits: int) -> pa.ChunkedArray:
    """Returns whole numbers divided by 10 ** `digits`."""
    if not digits:
        return values
    factor = pa.scalar(Decimal(1).scaleb(-digits), pa.decimal128(digits + 1, digits))
    return pc.multiply(values.cast(pa.decimal128(_WHOLE)), factor).cast(pa.decimal128(38, digits))


def _exact_sql(measure: Measure, joined: Sequence[str], _: Engine) -> str:
    value = f"nullif({joined[0]}, {NO_NUMBER[measure.part.join]})" if _is_nullable(measure) else joined[0]
    if not measure.digits:
        return f"CAST({value} AS BIGINT)"
    factor = f"CAST('{Decimal(1).scaleb(-measure.digits):f}' AS DECIMAL({measure.digits + 1}, {measure.digits}))"
    return f"CAST(CAST(CAST({value} AS BIGINT) AS DECIMAL({_WHOLE}, 0)) * {factor} AS DECIMAL(38, {measure.digits}))"


def _average(measure: Measure, joined: Values) -> pa.ChunkedArray:
    total, count = joined
    divisor = pc.multiply(pc.if_else(pc.equal(count, 0), None, count), 10**measure.digits)
    # Unsafe, because large sums are rounded to the nearest number, as engines do.
    return pc.divide(total.cast(pa.float64(), safe=False), divisor.cast(pa.float64(), safe=False))


def _average_sql(measure: Measure, joined: Sequence[str], _: Engine) -> str:
    total, count = joined
    divisor = f"nullif(CAST({count} AS BIGINT), 0) * {10**measure.digits}"
    return f"CAST({total} AS DOUBLE) / CAST({divisor} AS DOUBLE)"


def _elapsed_sql(_: Measure, joined: Sequence[str], __: Engine) -> str:
    return f"CAST({joined[1]} - {joined[0]} AS BIGINT)"


def _quantile(measure: Measure, joined: Values) -> pa.ChunkedArray:
    values = each(partial(quantile, part=measure.quantile), joined[0], pa.int64())
    return _in_units(values, measure.digits)


def _list(measure: Measure, joined: Values) -> pa.ChunkedArray:
    texts = value_lists.texts_of_path if measure.part.join is Join.PATH else value_lists.texts_of_set
    return each(texts, joined[0], pa.list_(pa.string()))


def _left_out(_: Measure, joined: Values) -> pa.ChunkedArray:
    return each(value_lists.left_out, joined[0], pa.int64())


def _single_view(_: Measure, joined: Values) -> pa.ChunkedArray:
    return pc.and_(pc.equal(joined[0], 1), pc.equal(joined[1], 0)).cast(pa.int64())


def _single_view_sql(_: Measure, joined: Sequence[str], __: Engine) -> str:
    return f"CAST(CASE WHEN {joined[0]} = 1 AND {joined[1]} = 0 THEN 1 ELSE 0 END AS BIGINT)"


def _null_sql(_: Measure, __: Sequence[str], ___: Engine) -> str:
    return "NULL"


class _DisplayForm(NamedTuple):
    """How a measure is made of its joined parts, in Arrow and in SQL."""

    values: Callable[[Measure, Values], pa.ChunkedArray]
    sql: Callable[[Measure, Sequence[str], Engine], str]


_FORMS: Final[Mapping[Display, _DisplayForm]] = {
    Display.NUMBER: _DisplayForm(lambda _, joined: joined[0], _number_sql),
    Display.ESTIMATE: _DisplayForm(lambda _, joined: each(estimate, joined[0], pa.int64()), _number_sql),
    Display.MOMENT: _DisplayForm(
        lambda _, joined: timestamps(joined[0]), lambda _, joined, engine: engine.time(joined[0])
    ),
    Display.TEXT_AFTER_TIME: _DisplayForm(_text, _text_sql),
    Display.EXACT: _DisplayForm(_exact, _exact_sql),
    Display.AVERAGE: _DisplayForm(_average, _average_sql),
    Display.ELAPSED: _DisplayForm(lambda _, joined: pc.subtract(joined[1], joined[0]), _elapsed_sql),
    Display.SINGLE_VIEW: _DisplayForm(_single_view, _single_view_sql),
    Display.QUANTILE: _DisplayForm(_quantile, _null_sql),
    Display.LIST: _DisplayForm(_list, _null_sql),
    Display.LEFT_OUT: _DisplayForm(_left_out, _null_sql),
}
