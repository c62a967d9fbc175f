"""Helpers of the tests of comparisons."""

from pathlib import Path

from tidemark.pipeline.reading.comparison.comparison_outcome import Comparison, TableComparison
from tidemark.pipeline.reading.comparison.comparison_output import sentences
from tidemark.pipeline.reading.comparison.warehouse_comparison import compare


def compared(one: Path, other: Path) -> Comparison:
    return compare(str(one), str(other))


def found(comparison: Comparison) -> dict[str, int]:
    """Returns the number of differences by table, for tables with differences."""
    counts = {table.name: table.differences.count for table in comparison.tables if table.differences}
    return {name: count for name, count in counts.items() if count}


def table_of(comparison: Comparison, name: str) -> TableComparison:
    return next(table for table in comparison.tables if table.name == name)


def said(comparison: Comparison) -> str:
    return "\n".join(sentences(comparison))
