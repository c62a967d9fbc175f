"""The live view with windows and keys at the edge: offsets beyond the event time, and keys that are null."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.live_views import by_delta_rs, by_duckdb, cells
from tests.verify.site import MINUTE, NOON, POLICY, Event, Site
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid

pytestmark = pytest.mark.slow
CENTURY = 36_500 * 24 * 60 * MINUTE
OFFSET = CENTURY + 3 * MINUTE
PAGES = Report("pages", Grid(10 * MINUTE, 10 * MINUTE), 5 * MINUTE, keys=("page_url",))
SHIFTED = (
    Report("tumbling", Grid(10 * MINUTE, 10 * MINUTE, OFFSET), 5 * MINUTE, keys=()),
    Report("sliding", Grid(10 * MINUTE, 4 * MINUTE, OFFSET), 5 * MINUTE, keys=()),
    Report("growing", Cumulate(20 * MINUTE, 5 * MINUTE, OFFSET), 5 * MINUTE, keys=()),
)
READERS = pytest.mark.parametrize("reader", [by_delta_rs, by_duckdb])


@READERS
def test_an_offset_beyond_the_event_time_leaves_windows_where_they_are(
    reader: Callable[[str, str], pa.Table], tmp_path: Path
) -> None:
    """The pane of 12:14 is 10 minutes into a period of 20, and not 10 minutes before its end."""
    Site(tmp_path, replace(POLICY, reports=SHIFTED, totals=None)).open().batch(Event(14))
    for report in SHIFTED:
        windows = sorted((window.start, window.end) for window in report.windows.of(NOON + 14 * MINUTE))
        live = reader(str(tmp_path), report.name)
        assert cells(live, "window_start", "window_end") == windows, report.name
        assert {*live["state"].to_pylist()} == {"open"}


@READERS
def test_a_corrected_row_whose_key_is_null_is_corrected(reader: Callable[[str, str], pa.Table], tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=(PAGES,), totals=None)).open()
    site.batch(Event(1, page=None), Event(1, page="/a")).batch(Event(30)).batch(Event(2, page=None)).correct()
    live = reader(str(tmp_path), "pages").to_pylist()
    states = {row["page_url"]: (row["page_views"], row["state"]) for row in live}
    assert states == {None: (2, "corrected"), "/a": (1, "closed"), "/": (1, "open")}


def test_a_report_may_be_named_as_an_alias_or_a_word_of_sql(tmp_path: Path) -> None:
    """Only delta-rs has the names of tables in the text; the other engines have paths."""
    reports = tuple(replace(PAGES, name=name) for name in ("published", "done", "result", "order", "windows"))
    site = Site(tmp_path, replace(POLICY, reports=reports, totals=None)).open()
    site.batch(Event(1)).batch(Event(30)).batch(Event(2)).correct()
    for report in reports:
        states = cells(by_delta_rs(str(tmp_path), report.name), "page_views", "state")
        assert states == [(1, "open"), (2, "corrected")], report.name
