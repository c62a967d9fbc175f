"""`tidemark compare` says what it did not compare, and calls nothing equal that it did not compare."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction

from tests.comparison.comparing import compared, said, table_of
from tests.comparison.conftest import Changed, Pair, PairOf
from tests.verify.conftest import play
from tests.verify.plant import alter, at
from tests.verify.site import MINUTE, PAGE_VIEWS_ALONE, POLICY, REPORTS, Event, Site
from tidemark.pipeline.cli import main
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.strategies import Bounded, TimeLag
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.reading.comparison.comparison_outcome import ComparisonOutcome
from tidemark.pipeline.tables.transactions import REMOVED_APP

pytestmark = pytest.mark.slow


def test_what_only_one_has_read_is_not_compared(tmp_path: Path) -> None:
    one, other = (tmp_path / name for name in ("one", "other"))
    play(Site(one, PAGE_VIEWS_ALONE).open())
    play(Site(other, PAGE_VIEWS_ALONE).open()).batch(Event(55, "bob"), Event(12))
    comparison = compared(one, other)
    assert comparison.outcome is ComparisonOutcome.EQUAL
    assert [table.name for table in comparison.tables] == ["page_views", "dead_letters"]
    text = said(comparison)
    assert (
        "not compared: page_views: windows that end after 2024-05-01T12:27:00Z, because they are not final in both, "
        "and the two have not read the same offsets" in text
    )
    assert "not compared: dead_letters: 2 offsets that other has read and the other has not" in text


def test_windows_without_an_end_in_common_are_said_to_be_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = (tmp_path / name for name in ("one", "other"))
    Site(one, PAGE_VIEWS_ALONE).open().batch(Event(1))
    Site(other, PAGE_VIEWS_ALONE).open().batch(Event(1), Event(33))
    assert main(["compare", str(one), str(other)]) == 4
    printed = capsys.readouterr()
    assert "not compared: page_views: all windows, because no window that is final in both has a row" in printed.out
    assert "tidemark: not everything could be compared: page_views" in printed.err


def test_warehouses_without_a_row_are_not_called_equal(tmp_path: Path) -> None:
    for name in ("one", "other"):
        Site(tmp_path / name, PAGE_VIEWS_ALONE).open().batch(Event(1))
        alter(tmp_path / name, "panes", lambda _: [])
    assert compared(tmp_path / "one", tmp_path / "other").outcome is ComparisonOutcome.INCOMPLETE


@pytest.mark.parametrize("earlier", [0, 1])
def test_windows_before_the_later_start_are_not_compared(earlier: int, tmp_path: Path) -> None:
    places = [tmp_path / "one", tmp_path / "other"]
    whole = Site(places[earlier], PAGE_VIEWS_ALONE).open().batch(Event(1), Event(2, "bob"))
    later = Site(places[1 - earlier], PAGE_VIEWS_ALONE, position=2).open()
    for site in (whole, later):
        site.batch(Event(3), Event(14)).batch(Event(40))
    comparison = compared(*places)
    assert comparison.outcome is ComparisonOutcome.EQUAL, said(comparison)
    assert "not compared: page_views: windows that start before 2024-05-01T12:03:00.001Z" in said(comparison)
    differences = table_of(comparison, "page_views").differences
    assert differences
    assert (differences.warehouse_rows, differences.other_rows) == (1, 1)


def test_without_a_limit_of_earlier_times_nothing_is_compared_after_a_later_start(tmp_path: Path) -> None:
    policy = replace(PAGE_VIEWS_ALONE, strategy=TimeLag(0))
    for name, position in (("one", 0), ("other", 1)):
        Site(tmp_path / name, policy, position=position).open().batch(Event(3), Event(14)).batch(Event(40))
    comparison = compared(tmp_path / "one", tmp_path / "other")
    assert table_of(comparison, "page_views").differences is None
    assert "the ledger does not limit their times" in said(comparison)


def test_a_report_that_differs_is_named_and_not_compared(tmp_path: Path) -> None:
    longer = replace(REPORTS[0], windows=Grid(20 * MINUTE, 20 * MINUTE))
    measures = replace(REPORTS[1], measures=("page_views",))
    policies = (
        replace(POLICY, reports=REPORTS[:3], totals=None),
        replace(POLICY, reports=(longer, measures), strategy=Bounded(1_000), totals=None),
    )
    comparison = compared(*_played(tmp_path, *policies))
    settings_found = {each.setting for each in comparison.settings}
    assert settings_found == {
        "time.strategy, time.marker, time.lag, time.bound",
        "reports.page_views.windows",
        "reports.pages.measures",
        "reports.days",
    }
    assert table_of(comparison, "page_views").not_compared == (
        "all rows, because the two define its keys, filter or windows otherwise",
    )
    assert table_of(comparison, "days").not_compared == ("all rows, because only one of the two has this report",)
    assert table_of(comparison, "pages").lacks == ("clicks",)
    assert comparison.outcome is not ComparisonOutcome.EQUAL


def test_a_report_that_only_one_has_makes_the_comparison_incomplete(tmp_path: Path) -> None:
    policies = PAGE_VIEWS_ALONE, replace(POLICY, reports=REPORTS[:2], totals=None)
    comparison = compared(*_played(tmp_path, *policies))
    assert table_of(comparison, "page_views").is_complete
    assert comparison.outcome is ComparisonOutcome.INCOMPLETE


def _played(folder: Path, *policies: Policy) -> Pair:
    one, other = folder / "one", folder / "other"
    for place, policy in zip((one, other), policies, strict=True):
        play(Site(place, policy).open())
    return one, other


def test_rows_that_retention_removed_are_not_compared(pair_of: PairOf, tmp_path: Path) -> None:
    one, other = pair_of("page_views")[0], tmp_path / "other"
    shutil.copytree(one, other)
    until = round(at(10).timestamp() * 1000)
    DeltaTable(str(other / "page_views")).delete(
        f"window_end <= '{at(10).isoformat()}'",
        commit_properties=CommitProperties(app_transactions=[Transaction(REMOVED_APP, until)]),
    )
    comparison = compared(one, other)
    assert comparison.outcome is ComparisonOutcome.EQUAL, said(comparison)
    assert (
        "not compared: page_views: windows that start before 2024-05-01T12:10:00Z, because other lacks earlier ones"
        in said(comparison)
    )


def test_another_topic_is_never_compared(pair_of: PairOf, changed: Changed) -> None:
    pair = pair_of("page_views")
    with changed(pair, "ledger", lambda rows: [row | {"topic": "u"} for row in rows]):
        comparison = compared(*pair)
    assert comparison.outcome is ComparisonOutcome.INCOMPLETE
    assert "they read different topics: t and u" in said(comparison)
