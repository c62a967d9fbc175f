"""What the statistics of a table's files tell, with no look into any of them."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable


def highest(table: DeltaTable, column: str) -> Any:
    """The highest value of a column; None where nothing is known of any."""
    return pc.max(_of_files(table, f"max.{column}")).as_py()


def lowest(table: DeltaTable, column: str, **partition: str) -> Any:
    """The lowest value of a column, in the files with these values of partition columns."""
    return pc.min(_of_files(table, f"min.{column}", **partition)).as_py()


def told_of_files(table: DeltaTable, **partition: str) -> pa.Table:
    """A row for each file with these values of partition columns: its path, size, rows and bounds."""
    files = pa.table(table.get_add_actions(flatten=True))
    for column, value in partition.items():
        if f"partition.{column}" in files.column_names:
            files = files.filter(pc.equal(files[f"partition.{column}"], value))
    return files


def _of_files(table: DeltaTable, name: str, **partition: str) -> pa.ChunkedArray:
    files = told_of_files(table, **partition)
    return files[name] if name in files.column_names else pa.chunked_array([], pa.int64())
