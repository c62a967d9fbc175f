"""Rows of Delta tables that a measurement makes up."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa


def rows_of(schema: pa.Schema, count: int, columns: Mapping[str, Any]) -> pa.Table:
    """A table of `count` rows: an array has a value for each, any other value is that of all, what is left out is null.

    Raises ValueError for a column that the schema does not have.
    """
    if unknown := columns.keys() - set(schema.names):
        raise ValueError(f"the table has no columns {sorted(unknown)}")
    filled = {field.name: _filled(columns.get(field.name), count, field.type) for field in schema}
    return pa.table(filled, schema=schema)


def _filled(value: Any, count: int, kind: pa.DataType) -> pa.Array:
    return value.cast(kind) if isinstance(value, pa.Array) else pa.repeat(pa.scalar(value, kind), count)
