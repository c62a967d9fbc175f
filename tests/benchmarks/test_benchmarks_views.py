"""The measurement of the dashboard's views, in small."""

from pathlib import Path

import pytest

from benchmarks import views

pytestmark = pytest.mark.slow


def test_each_view_is_asked_of_each_warehouse(tmp_path: Path) -> None:
    found = views.views_by_rows([46_000, 92_000], 1, tmp_path)
    assert all(0 < one["median"] <= one["highest"] for by_view in found.values() for one in by_view.values())
    assert [len(by_view) for by_view in found.values()] == [7, 7]
    assert views.render(found).row_count == 7
