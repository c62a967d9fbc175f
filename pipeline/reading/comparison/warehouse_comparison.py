"""`tidemark compare`: whether two warehouses hold the same results and the same dead letters."""

from tidemark.pipeline.reading.comparison.common_spans import Sides, different_topics
from tidemark.pipeline.reading.comparison.compared_tables import ComparedTables
from tidemark.pipeline.reading.comparison.comparison_outcome import ComparedSide, Comparison, TableComparison
from tidemark.pipeline.reading.comparison.row_differences import TwoWarehouses
from tidemark.pipeline.reading.comparison.setting_differences import done_by_hand, setting_differences
from tidemark.pipeline.reading.comparison.side import NAMES, read_side
from tidemark.pipeline.tuning import STANDARD, Tuning


def compare(warehouse: str, other: str, tuning: Tuning = STANDARD) -> Comparison:
    """Compares two warehouses, each as of one version of its tables. Changes nothing.

    Raises SetUpError if one of them is no warehouse, and NothingFound before its first batch.
    """
    one, two = (read_side(name, place) for name, place in zip(NAMES, (warehouse, other), strict=True))
    sides = one, two
    settings = setting_differences(*sides)
    tables = _tables(sides, tuning)
    compared = (
        ComparedSide(one.warehouse, one.summary.batch, one.summary.watermark),
        ComparedSide(two.warehouse, two.summary.batch, two.summary.watermark),
    )
    return Comparison(compared, settings, [*done_by_hand(sides)], tables)


def _tables(sides: Sides, tuning: Tuning) -> list[TableComparison]:
    if reason := different_topics(*sides):
        return [TableComparison("all tables", "", None, not_compared=(f"all rows, because {reason}",))]
    return [*ComparedTables(sides, TwoWarehouses(sides, tuning)).all()]
