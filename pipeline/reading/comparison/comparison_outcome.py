"""The outcome of a comparison of two warehouses: what was compared, what was not, and every difference."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidemark.pipeline.reading.comparison.row_differences import RowDifferences
from tidemark.pipeline.reading.comparison.setting_differences import SettingDifference


class ComparisonOutcome(StrEnum):
    """The answer in a word."""

    EQUAL = "equal"
    """Every row that was compared is equal, and something of each table was compared."""
    DIFFERENT = "different"
    INCOMPLETE = "incomplete"
    """No row differs, but a table, or a measure of a report, could not be compared, or there were no rows."""


@dataclass(frozen=True, slots=True)
class TableComparison:
    """The outcome for a table, or for the live view of a report."""

    name: str
    compared: str
    """Which rows were compared, as a phrase; empty if it could not be compared."""
    differences: RowDifferences | None
    """None if it could not be compared."""
    cell: Sequence[str] = ()
    """The columns that say which row it is."""
    values: Sequence[str] = ()
    """The other columns that are compared."""
    left_out: Mapping[str, str] | None = None
    """The columns that are not compared, with the reason."""
    not_compared: Sequence[str] = ()
    """Phrases on rows that are not compared, with the reason."""
    lacks: Sequence[str] = ()
    """Measures that only one of the two reports has, or that they define otherwise."""

    @property
    def is_complete(self) -> bool:
        """Whether rows were compared, in all measures."""
        return self.differences is not None and not self.lacks

    @property
    def has_no_rows(self) -> bool:
        """Whether neither warehouse has a row among those that were compared."""
        return self.differences is None or not (self.differences.warehouse_rows or self.differences.other_rows)


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """A warehouse as it was read."""

    warehouse: str
    batch: int
    """The newest batch."""
    watermark: int | None
    """In milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome for two warehouses."""

    sides: tuple[ComparedSide, ComparedSide]
    settings: Sequence[SettingDifference]
    by_hand: Sequence[str]
    """Sentences on what was done to a warehouse by hand."""
    tables: Sequence[TableComparison]

    @property
    def outcome(self) -> ComparisonOutcome:
        """The answer in a word."""
        if any(table.differences.count for table in self.tables if table.differences):
            return ComparisonOutcome.DIFFERENT
        is_whole = all(table.is_complete for table in self.tables)
        return ComparisonOutcome.EQUAL if is_whole and _rows(self.tables) else ComparisonOutcome.INCOMPLETE


def _rows(tables: Iterable[TableComparison]) -> int:
    return sum(table.differences.warehouse_rows for table in tables if table.differences)
