"""Rows of a dimension with a `top` that are not its largest values, or not all others, are found."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.conservation import violations
from tests.support.spark_reader import spark_reader
from tests.verify.plant import Rows, add, alter, change, drop
from tests.verify.site import MINUTE, POLICY, Event, Site
from tests.verify.test_on_spark import finding_of, on_spark
from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.verifier.query_engines import DataFusion

pytestmark = pytest.mark.slow
REPORT = Report(
    "plans", Grid(10 * MINUTE, 10 * MINUTE), 5 * MINUTE, ("plan",), dimensions=(Dimension("plan", path="plan", top=2),)
)
HOSTS = ("a", "a", "a", None, None, "b", "c", "c", "d")
OTHERS = {"plan_others": 3}
RESULTS, FITS = 4, 5
"""The indexes of the invariants of results."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A window of five values: 3 of a, 2 of null and of c, of which c has a row, and 1 of b and d."""
    folder = tmp_path_factory.mktemp("plans")
    site = Site(folder, replace(POLICY, reports=(REPORT,), totals=None)).open()
    site.batch(*(Event(number, host=host) for number, host in enumerate(HOSTS)))
    site.batch(Event(11, host="a"))
    assert not violations(folder)
    return folder


@pytest.fixture
def warehouse(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "copy"))


def swapped(rows: Rows) -> Rows:
    """Gives the row of c to null, which has as many events."""
    return change({"plan": "c"}, plan=None)(rows)


BREAKS = {
    "another of two equal values has a row": (swapped, "plan None has a row, but its 2 page_views in panes are"),
    "and the first has none": (swapped, "plan 'c' is among all others, but its 2 page_views in panes are number 2"),
    "a value has a row that is too small": (change({"plan": "c"}, plan="d"), "plan 'd' has a row, but its 1 "),
    "others are fewer": (
        change(OTHERS, plan_others=2),
        "of all other values of plan is of 2 values, but its panes have 3",
    ),
    "others have other events": (
        change(OTHERS, page_views=5),
        "of all other values of plan shows 5 page_views, but its panes and corrections have 4",
    ),
    "others are missing": (drop(**OTHERS), "of all other values of plan is not shown, but its panes"),
    "others are one value": (change(OTHERS, plan_others=0), "of plan None shows 4 page_views, but its panes"),
    "others twice": (add(OTHERS), "of all other values of plan occurs 2 times, but must occur once"),
    "others have a value": (change(OTHERS, plan="b"), "which does not fit a top of 2"),
    "a value too many": (add({"plan": "c"}, plan="b", page_views=1), "shows 3 values of plan, and 1 row of all others"),
    "a value too few": (drop(plan="c"), "shows 1 value of plan, and 1 row of all others, which does not fit"),
    "others are larger": (
        change(OTHERS, page_views=7),
        "shows 7 page_views of 3 values of plan in all others, of which one has more than the 2 of a row",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_row_that_is_not_of_the_largest_or_of_all_others_is_reported(name: str, warehouse: Path) -> None:
    how, sentence = BREAKS[name]
    alter(warehouse, "plans", how)
    assert any(sentence in found for found in violations(warehouse)), violations(warehouse)


def test_a_window_without_panes_must_fit_its_top(warehouse: Path) -> None:
    """The panes are gone, as after a compaction of closed windows, so that only the rows are left."""
    alter(warehouse, "panes", lambda _: [])
    alter(warehouse, "plans", change(OTHERS, page_views=7))
    assert any("of which one has more than the 2 of a row" in found for found in violations(warehouse))


@pytest.mark.jvm
@pytest.mark.nightly  # `test_on_spark` has samples
def test_spark_finds_what_data_fusion_finds(warehouse: Path) -> None:
    assert spark_reader().call(on_spark, warehouse, RESULTS).violation_count == 0
    alter(warehouse, "plans", swapped)
    alter(warehouse, "plans", change(OTHERS, plan_others=4, page_views=9))
    for invariant in (RESULTS, FITS):
        found = spark_reader().call(on_spark, warehouse, invariant)
        assert sorted(found.violations) == sorted(finding_of(warehouse, invariant, DataFusion).violations)
        assert found.violation_count > 0
