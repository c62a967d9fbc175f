"""Makes artificial rows of Delta tables."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa


def rows_of(schema: pa.Schema, count: int, columns: Mapping[str, Any]) -> pa.Table:
    """Returns a table of `count` rows.

    A column is an array of `count` values or a value for all rows; missing columns are null. Raises ValueError for a
    column that is not in the schema.
    """
    if unknown := columns.keys() - set(schema.names):
        raise ValueError(f"the table has no columns {sorted(unknown)}")
    filled = {field.name: _filled(columns.get(field.name), count, field.type) for field in schema}
    return pa.table(filled, schema=schema)


def _filled(value: Any, count: int, kind: pa.DataType) -> pa.Array:
    return value.cast(kind) if isinstance(value, pa.Array) else pa.repeat(pa.scalar(value, kind), count)
