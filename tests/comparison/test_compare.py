"""`tidemark compare` finds a change of every column, and says what it did not compare."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.comparison.comparing import compared, found, said, table_of
from tests.comparison.conftest import ALL_REPORTS, Changed, PairOf
from tests.verify.conftest import play
from tests.verify.plant import Rows, add, alter, at, drop
from tests.verify.site import PAGE_VIEWS_ALONE, POLICY, REPORTS, Event, Site
from tidemark.pipeline.cli import main
from tidemark.pipeline.reading.comparison.comparison_outcome import ComparisonOutcome
from tidemark.pipeline.reading.comparison.warehouse_comparison import compare
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.slow

TABLES = [*(report.name for report in ALL_REPORTS), "user_totals", "dead_letters"]


def other_value(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case datetime():
            return value + timedelta(milliseconds=1)
        case date():
            return value + timedelta(days=1)
        case str():
            return f"{value}!"
        case bytes():
            return value + b"!"
    raise AssertionError(value)


def changed_in(column: str, number: int = 0, instead: Any = 7) -> Callable[[Rows], Rows]:
    """Returns a change of one column in one row, by the order of windows; null becomes `instead`."""

    def change(rows: Rows) -> Rows:
        ordered = in_order(rows)
        value = ordered[number][column]
        ordered[number] = ordered[number] | {column: instead if value is None else other_value(value)}
        return ordered

    return change


def in_order(rows: Rows) -> Rows:
    names = ("window_start", "user_id", "page_url")
    return sorted(rows, key=lambda row: [row[name] for name in names if row.get(name)])


def test_equal_warehouses_are_equal_in_every_table(pair_of: PairOf) -> None:
    comparison = compared(*pair_of("all"))
    assert comparison.outcome is ComparisonOutcome.EQUAL
    assert not comparison.settings
    assert not comparison.by_hand
    assert {table.name.removesuffix("_live") for table in comparison.tables} == {*TABLES}
    assert all(table.differences for table in comparison.tables)
    assert "not compared" not in said(comparison)


@pytest.mark.parametrize("name", TABLES)
def test_a_change_of_each_column_of_a_row_is_found_or_the_column_is_left_out(
    name: str, pair_of: PairOf, changed: Changed
) -> None:
    pair = pair_of(name)
    stored = pa.schema(DeltaTable(str(pair[1] / name)).schema().to_arrow())
    table = next(table for table in compared(*pair).tables if table.name.removesuffix("_live") == name)
    columns, left_out = ({*each} & {*stored.names} for each in ([*table.cell, *table.values], table.left_out or ()))
    assert {*stored.names} == columns | left_out
    assert not columns & left_out
    changes = {field.name: changed_in(field.name, 0, _some_value(field.type)) for field in stored}
    with changed(pair, name, lambda rows: reduce(lambda changing, column: changes[column](changing), left_out, rows)):
        assert found(compared(*pair)) == {}
    for column in sorted(columns):
        with changed(pair, name, changes[column]):
            comparison = compared(*pair)
        assert found(comparison), column
        assert {*found(comparison)} <= {name, f"{name}_live"}, column
        assert comparison.outcome is ComparisonOutcome.DIFFERENT, column


def _some_value(type_: pa.DataType) -> Any:
    return b"7" if pa.types.is_binary(type_) else "7" if pa.types.is_string(type_) else 7


@pytest.mark.parametrize("name", TABLES)
def test_a_row_that_is_missing_or_twice_is_found(name: str, pair_of: PairOf, changed: Changed) -> None:
    for how in (lambda rows: in_order(rows)[1:], lambda rows: [*rows, in_order(rows)[0]]):
        with changed(pair_of(name), name, how):
            assert sum(found(compared(*pair_of(name))).values()) == 1


def test_what_is_only_in_one_is_counted_by_side_and_shown(pair_of: PairOf, changed: Changed) -> None:
    pair, first = pair_of("page_views"), {"window_start": at(0), "user_id": "ann"}
    with changed(pair, "page_views", lambda rows: drop(**first)(add(first, user_id="zoe")(rows))):
        comparison = compared(*pair)
    differences = table_of(comparison, "page_views").differences
    assert differences
    assert (differences.changed, differences.only_warehouse, differences.only_other) == (0, 1, 1)
    ten = "page_views: window [2024-05-01T12:00:00Z, 2024-05-01T12:10:00Z)"
    assert f"DIFFERENT: {ten} of user_id 'ann': page_views 2, clicks 1 is only in warehouse" in said(comparison)
    assert f"DIFFERENT: {ten} of user_id 'zoe': page_views 2, clicks 1 is only in other" in said(comparison)


def test_a_changed_count_is_shown_with_both_values(pair_of: PairOf, changed: Changed) -> None:
    pair = pair_of("page_views")
    with changed(pair, "page_views", changed_in("clicks")):
        text = said(compared(*pair))
    ten = "page_views: window [2024-05-01T12:00:00Z, 2024-05-01T12:10:00Z)"
    assert f"DIFFERENT: {ten} of user_id 'ann': clicks is 1 in warehouse and 2 in other" in text


def test_more_differences_than_are_shown_are_counted(pair_of: PairOf, changed: Changed) -> None:
    pair = pair_of("pages")
    with changed(pair, "pages", lambda rows: [row | {"clicks": 9} for row in rows]):
        comparison = compared(*pair)
    count, text = found(comparison)["pages"], said(comparison)
    assert text.count("DIFFERENT: pages: window") == 5
    assert f"{count} differences in all, of which 5 are shown: {count} with other values, 0 only in warehouse" in text


def test_rows_in_many_statements_are_each_compared_once(pair_of: PairOf, changed: Changed) -> None:
    pair = pair_of("user_totals")
    with changed(pair, "page_views", changed_in("clicks")):
        one, other = map(str, pair)
        whole, parts = (compare(one, other, tuning) for tuning in (Tuning(), Tuning(statement_rows=2)))
    assert whole.outcome is ComparisonOutcome.DIFFERENT
    assert [table.differences for table in whole.tables] == [table.differences for table in parts.tables]


def test_a_change_in_an_open_window_is_found_in_its_panes(pair_of: PairOf, changed: Changed) -> None:
    def more(rows: Rows) -> Rows:
        newest = max(row["pane_start"] for row in rows)
        return [row | {"clicks": 5} if row["pane_start"] == newest else row for row in rows]

    with changed(pair_of("page_views"), "panes", more):
        assert found(compared(*pair_of("page_views"))) == {"page_views_live": 1}


def test_uncommitted_dead_letters_are_no_difference(pair_of: PairOf, changed: Changed) -> None:
    pair = pair_of("dead_letters")
    with changed(pair, "dead_letters", lambda rows: [*rows, rows[0] | {"batch": 9_000_000_001}]):
        assert compared(*pair).outcome is ComparisonOutcome.EQUAL


def test_windows_that_are_not_published_yet_are_not_compared(tmp_path: Path) -> None:
    one, other = (tmp_path / name for name in ("one", "other"))
    for place, publishes in ((one, True), (other, False)):
        play(Site(place, PAGE_VIEWS_ALONE).open()).batch(Event(50), publish=publishes)
    comparison = compared(one, other)
    assert comparison.outcome is ComparisonOutcome.EQUAL, said(comparison)
    assert "and other may have windows that are not published yet" in said(comparison)


EVENTS = st.lists(st.integers(1, 120), min_size=2, max_size=10)
CUTS = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@given(gaps=EVENTS, one=CUTS, other=CUTS, data=st.data())
@settings(deadline=None, max_examples=5)
def test_orderly_events_in_any_batches_are_equal_and_any_other_row_is_found(
    gaps: list[int], one: list[int], other: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    events, second = list[Event](), 0
    for number, gap in enumerate(gaps):
        second += gap * 10
        events.append(Event(second / 60, f"u{number % 2}", "/ab"[: 1 + number % 2]))
    events.append(Event(second / 60 + 30, "last"))
    pair = [tmp_path_factory.mktemp("cut") for _ in range(2)]
    for place, sizes in zip(pair, (one, other), strict=True):
        _play_in_cuts(place, events, sizes)
    comparison = compared(*pair)
    assert comparison.outcome is ComparisonOutcome.EQUAL, said(comparison)
    path = str(pair[1] / "page_views")
    rows = DeltaTable(path).to_pyarrow_table().to_pylist()
    number = data.draw(st.integers(0, len(rows) - 1))
    alter(pair[1], "page_views", changed_in(data.draw(st.sampled_from(["page_views", "clicks", "user_id"])), number))
    assert {*found(compared(*pair))} <= {"page_views", "page_views_live"}
    assert compared(*pair).outcome is ComparisonOutcome.DIFFERENT


def _play_in_cuts(place: Path, events: list[Event], sizes: list[int]) -> None:
    reports = (REPORTS[0], REPORTS[3])
    site, position = Site(place, replace(POLICY, reports=reports, totals=None)).open(), 0
    while position < len(events):
        size = sizes[site.number % len(sizes)]
        site.batch(*events[position : position + size])
        position += size


def test_the_command_prints_json_and_ends_with_1_for_a_difference(
    pair_of: PairOf, changed: Changed, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = pair_of("page_views")
    paths = [*map(str, pair)]
    assert main(["compare", *paths]) == 0
    assert "The two are equal in everything that was compared." in capsys.readouterr().out
    with changed(pair, "page_views", drop(window_start=at(0), user_id="ann")):
        assert main(["compare", *paths, "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["outcome"] == "different"
    assert answer["warehouse"]["path"] == paths[0]
    (table,) = [each for each in answer["tables"] if each["table"] == "page_views"]
    assert table["rows"]["other"] == table["rows"]["warehouse"] - 1
    assert table["differences"]["only_warehouse"] == 1
    (first,) = table["differences"]["first"]
    assert first["row"] | {"window_start": "2024-05-01T12:00:00Z", "user_id": "ann"} == first["row"]
    assert (first["warehouse"], first["other"]) == (1, 0)


def test_no_warehouse_is_exit_code_2(tmp_path: Path, pair_of: PairOf, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(pair_of("page_views")[0]), str(tmp_path)]) == 2
    assert "there is no Tidemark warehouse" in capsys.readouterr().err
