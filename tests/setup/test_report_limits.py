"""Reports that no service could run are refused, with a sentence."""

import re
from pathlib import Path

import pytest

from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.results.live_view import live_sql
from tidemark.pipeline.settings.report_settings import _RESERVED
from tidemark.pipeline.tables.engines import Engine


def refusal(tmp_path: Path, text: str) -> str:
    (tmp_path / "tidemark.toml").write_text(text)
    with pytest.raises(SetUpError) as caught:
        parsed_settings("--config", str(tmp_path / "tidemark.toml"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("window", "sentence"),
    [
        (
            'size = "10m", slide = "1001ms"',
            "a window of report a would consist of 600000 panes of 1ms, and may",
        ),
        ('size = "1d", step = "1s"', "a window of report a would consist of 86400 panes of 1s, and may consist"),
        ('size = "5s", slide = "1ms"', "an event of report a would belong to 5000 windows, and may belong to 4096"),
        ('size = "4096500ms", slide = "1s"', "would belong to 4097 windows, and may belong to 4096"),
        ("count = 4098, slide = 1", "would belong to 4098 windows, and may belong to 4096"),
        ('size = "3660d", zone = "Europe/Berlin"', "reports.a.window.size: must be at most 366d"),
        ('size = "367d"', "reports.a.window.size: must be at most 366d"),
        ('gap = "367d"', "reports.a.window.gap: must be at most 366d"),
    ],
)
def test_windows_of_too_many_panes_are_refused(window: str, sentence: str, tmp_path: Path) -> None:
    assert sentence in refusal(tmp_path, f"reports.a.window = {{ {window} }}")


def test_panes_of_a_session_gap_count(tmp_path: Path) -> None:
    text = 'window.size = "1h"\n[reports.a]\nmeasures = ["sessions_begun"]\nsession_gap = "1800001ms"'
    assert "a window of report a would consist of 5400001 panes of 1ms" in refusal(tmp_path, text)


@pytest.mark.parametrize(
    "window",
    [
        {"size": "1h", "slide": "7s"},
        {"size": "1d", "slide": "1m"},
        {"size": "1d", "step": "1m"},
        {"size": "7d", "slide": "5m"},
        {"size": "366d", "zone": "Europe/Berlin"},
        {"size": "1ms"},
    ],
)
def test_long_and_short_windows_that_a_service_can_run_are_accepted(window: dict[str, str]) -> None:
    settings = parsed_settings(*(word for name, value in window.items() for word in (f"--window.{name}", value)))
    assert settings.policy().reports[0].windows.ends_are_known


@pytest.mark.parametrize("name", ["now", "parts", "windowed", "numbered", "placed", "A", "1a", "a-b", "_a", "a" * 201])
def test_names_that_cannot_be_tables_with_a_live_view_are_refused(name: str, tmp_path: Path) -> None:
    sentence = refusal(tmp_path, f"[reports.{name}]")
    assert "a report cannot be named 'a" in sentence if name.startswith("aa") else f"named {name!r}: start" in sentence


def test_a_report_cannot_have_the_name_of_a_live_view(tmp_path: Path) -> None:
    assert "report x_live has the name of the live view of x: rename one of the two" in refusal(
        tmp_path, "[reports.x_live]\n[reports.x]"
    )


@pytest.mark.parametrize(
    "windows",
    [Grid(1, 1), Cumulate(2, 1), Calendar(86_400_000, "UTC"), Sessions(1), Counts(1), SlidingCounts(2, 1)],
    ids=repr,
)
def test_every_subquery_of_a_live_view_has_a_name_that_no_report_can_have(windows: Grid) -> None:
    sql = live_sql("/w", Report("a", windows, 0), Engine.DELTA_RS, corrected=True)
    subqueries = re.findall(r"(\w+) AS \(\s*SELECT", sql)
    assert {"now", "parts"} <= {*subqueries} <= {*_RESERVED}
