"""Whether a warehouse is well after all that happened to it."""

from collections import Counter
from pathlib import Path

from tests.support.against_truth import Cell, assert_matches_truth, assert_shows
from tests.support.conservation import assert_conserved
from tests.support.warehouse import rows
from tidemark.producers.truth import Truth


def assert_well(warehouse: Path, truth: Truth) -> None:
    """Verifies a warehouse at rest, also against what was sent."""
    corrected = _corrected(warehouse)
    if corrected:
        assert_conserved(warehouse)
        # Corrections were sent too late, and are published nevertheless.
        assert_shows(warehouse, truth, corrected)
    else:
        assert_matches_truth(warehouse, truth)


def _corrected(warehouse: Path) -> Counter[Cell]:
    """Counts what corrections have added to page views."""
    cells: Counter[Cell] = Counter()
    if (warehouse / "corrections").exists():
        for row in rows(warehouse, "corrections"):
            if row["report"] == "page_views":
                for name in ("page_views", "clicks"):
                    cells[row["user_id"], row["window_start_ms"], name] += row[name]
    return +cells
