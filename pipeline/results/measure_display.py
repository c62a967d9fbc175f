"""The values that results display of the joined parts of measures: in Arrow, and in SQL of each engine."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.pipeline.measures import NO_NUMBER, TIME_DIGITS, Display, Join, Measure
from tidemark.pipeline.results.result_table import timestamps
from tidemark.pipeline.sketches import estimate
from tidemark.pipeline.tables.engines import Engine

_WHOLE: Final = 19
"""The digits of a number of 64 bits."""


def displayed(measure: Measure, states: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Returns the values of a measure from its joined parts."""
    state, *others = states
    match measure.display:
        case Display.NUMBER:
            return state
        case Display.ESTIMATE:
            return each(estimate, state, pa.int64())
        case Display.MOMENT:
            return timestamps(state)
        case Display.TEXT_AFTER_TIME:
            is_text = pc.greater(pc.utf8_length(state), TIME_DIGITS)
            return pc.if_else(is_text, pc.utf8_slice_codeunits(state, TIME_DIGITS + 1), None)
        case Display.EXACT:
            return _exact(measure, state)
        case Display.AVERAGE:
            return _average(measure, state, others[0])
        case _:
            assert_never(measure.display)


def displayed_sql(measure: Measure, joined: Sequence[str], engine: Engine) -> str:
    """Returns SQL of a measure from SQL of its joined parts."""
    state, *others = joined
    match measure.display:
        case Display.MOMENT:
            return engine.time(state)
        case Display.TEXT_AFTER_TIME:
            return f"CASE WHEN length({state}) > {TIME_DIGITS} THEN substr({state}, {TIME_DIGITS + 2}) END"
        case Display.NUMBER | Display.ESTIMATE:
            # The type of the result: DuckDB's sums have 128 bits.
            return f"CAST({state} AS BIGINT)"
        case Display.EXACT:
            return _exact_sql(measure, state)
        case Display.AVERAGE:
            count = f"nullif(CAST({others[0]} AS BIGINT), 0) * {10**measure.digits}"
            return f"CAST({state} AS DOUBLE) / CAST({count} AS DOUBLE)"
        case _:
            assert_never(measure.display)


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


def _exact(measure: Measure, state: pa.ChunkedArray) -> pa.ChunkedArray:
    if _is_nullable(measure):
        state = pc.if_else(pc.equal(state, NO_NUMBER[measure.part.join]), None, state)
    if not measure.digits:
        return state
    factor = pa.scalar(Decimal(1).scaleb(-measure.digits), pa.decimal128(measure.digits + 1, measure.digits))
    return pc.multiply(state.cast(pa.decimal128(_WHOLE)), factor).cast(pa.decimal128(38, measure.digits))


def _exact_sql(measure: Measure, joined: str) -> str:
    value = f"nullif({joined}, {NO_NUMBER[measure.part.join]})" if _is_nullable(measure) else joined
    if not measure.digits:
        return f"CAST({value} AS BIGINT)"
    factor = f"CAST('{Decimal(1).scaleb(-measure.digits):f}' AS DECIMAL({measure.digits + 1}, {measure.digits}))"
    return f"CAST(CAST(CAST({value} AS BIGINT) AS DECIMAL({_WHOLE}, 0)) * {factor} AS DECIMAL(38, {measure.digits}))"


def _average(measure: Measure, total: pa.ChunkedArray, count: pa.ChunkedArray) -> pa.ChunkedArray:
    divisor = pc.multiply(pc.if_else(pc.equal(count, 0), None, count), 10**measure.digits)
    # Unsafe, because large sums are rounded to the nearest number, as engines do.
    return pc.divide(total.cast(pa.float64(), safe=False), divisor.cast(pa.float64(), safe=False))
