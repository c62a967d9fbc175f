"""The measurements of the dashboard's views and of open tabs, in small."""

from itertools import count
from pathlib import Path

import pytest

from benchmarks import tabs, traffic, views
from tests.support.seeds import in_turn
from tests.support.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.slow


@in_turn(0, 2)
def test_each_view_is_asked_of_each_warehouse(tmp_path: Path) -> None:
    found = views.views_by_rows([46_000, 92_000], 1, tmp_path)
    assert all(0 < one["median"] <= one["highest"] for by_view in found.values() for one in by_view.values())
    assert [len(by_view) for by_view in found.values()] == [8, 8]
    assert views.render(found).row_count == 8


@in_turn(1, 4)
def test_each_question_about_a_period_is_asked_of_a_year_of_rows(tmp_path: Path) -> None:
    found = traffic.traffic_by_rows([1_000], 1, tmp_path)
    assert [*found[1_000]] == [*traffic.QUESTIONS, traffic.DUCKDB]
    assert traffic.render(found).row_count == 5


@pytest.mark.nightly
def test_tabs_on_an_unchanged_warehouse_are_sent_no_page(tmp_path: Path) -> None:
    found = tabs.costs(2, tmp_path, ("no tab, unchanged", "one tab, unchanged"))
    # The picture of the watermark is drawn again twice a minute, because it shows the clock.
    assert all(cost.pages <= 1 for cost in found.values())
    assert found["no tab, unchanged"].bytes_per_day == 0 < found["one tab, unchanged"].bytes_per_day
    assert tabs.render(found).row_count == len(found)


@pytest.mark.nightly
def test_a_tab_is_sent_the_pages_of_a_changing_warehouse(tmp_path: Path) -> None:
    """A page is read again only if the readings use less than their share of a core: seldom on a busy machine."""
    scene, folders = "one tab, a batch each second", (tmp_path / str(number) for number in count())
    wait_for(lambda: tabs.costs(2, next(folders), (scene,))[scene].pages, PATIENCE_S, "a page")
