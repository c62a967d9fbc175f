"""Columns that are selected in batch after batch."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame


class Selection:
    """Columns that are sent to Java once.

    Each column costs several messages, which took a tenth of a small batch's time.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._java_columns: Any = None

    def apply(self, frame: DataFrame) -> DataFrame:
        """Returns the columns of `frame`, like its `select`."""
        # PySpark has no public way to reuse Java's columns.
        if self._java_columns is None:
            self._java_columns = frame._jcols(*self._columns)  # type: ignore[operator]  # noqa: SLF001
        selected: DataFrame = type(frame)(frame._jdf.select(self._java_columns), frame.sparkSession)  # noqa: SLF001
        return selected
