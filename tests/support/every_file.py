"""Reads every file of a warehouse, also files that no version of a table references."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def files_with(warehouse: Path | str, *texts: str) -> set[str]:
    """Returns the files of the warehouse that contain one of the texts; Parquet files are decoded."""
    wanted = [text.encode() for text in texts]
    return {
        str(file.relative_to(warehouse))
        for file in Path(warehouse).rglob("*")
        if file.is_file() and any(text in value for value in _texts(file) for text in wanted)
    }


def _texts(file: Path) -> Iterator[bytes]:
    """Yields the bytes of a file, with footers and statistics; of Parquet every value, too."""
    yield file.read_bytes()
    if file.suffix == ".parquet":
        for column in pq.read_table(file).columns:
            yield from _values(column)


def _values(column: pa.ChunkedArray) -> Iterator[bytes]:
    for value in column.to_pylist():
        yield value if isinstance(value, bytes) else str(value).encode()
