"""Columns that are selected of batch after batch."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame


class Selection:
    """Columns of which Java is told once.

    Each that it is told costs messages there and back, which for those of a fold took a tenth of a small batch's time.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._told: Any = None

    def apply(self, frame: DataFrame) -> DataFrame:
        """As `select` does it."""
        # PySpark has no public way to keep what it tells Java.
        if self._told is None:
            self._told = frame._jcols(*self._columns)  # type: ignore[operator]  # noqa: SLF001
        selected: DataFrame = type(frame)(frame._jdf.select(self._told), frame.sparkSession)  # noqa: SLF001
        return selected
