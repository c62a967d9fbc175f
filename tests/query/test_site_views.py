"""`site_days` and `site_hours`: what has fired, and of a running day or hour the shorter windows that have fired."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dev.dashboards.__main__ import FOLDER
from tests.support.seeds import in_turn
from tests.support.spark_reader import spark_reader
from tests.support.waiting import PATIENCE_S
from tests.verify.site import MINUTE, POLICY, Event, Site
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.table_retention import TableRetention
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.reading.site_views import site_views
from tidemark.pipeline.reading.sql_views import views
from tidemark.pipeline.results.retention import remove_by_age
from tidemark.pipeline.sql_server.database import Database
from tidemark.pipeline.tables.engines import Engine

SKETCHES = ("page_views", "clicks", "unique_users")
HOUR, DAY = 60 * MINUTE, 1440 * MINUTE
REPORTS = (
    Report("site_by_minute", Grid(MINUTE, MINUTE), 5 * MINUTE, keys=()),
    Report("site_by_hour", Calendar(HOUR, "UTC"), 5 * MINUTE, keys=(), measures=SKETCHES),
    Report("site_by_day", Calendar(DAY, "UTC"), 5 * MINUTE, keys=(), measures=SKETCHES),
)
DAYS = """SELECT CAST(window_start AS STRING) AS day, page_views, clicks, visitors, state,
  CAST(covered_from AS STRING) AS since, CAST(covered_until AS STRING) AS until FROM site_days ORDER BY window_start"""
MIDNIGHT = 720
"""In minutes after noon."""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A day with three views, and 2 h 17 min of the next one, whose last event is not before the watermark."""
    site = Site(tmp_path, replace(POLICY, reports=REPORTS, totals=None)).open()
    site.batch(Event(1), Event(2, "bob"), Event(700, click=True))
    site.batch(Event(MIDNIGHT + 10), Event(MIDNIGHT + 20, "bob"))
    site.batch(Event(MIDNIGHT + 70), Event(MIDNIGHT + 122), Event(MIDNIGHT + 130, "cid"))
    return site.batch(Event(MIDNIGHT + 137.5))


@pytest.fixture
def warehouse(site: Site) -> Path:
    return Path(site.warehouse)


EXPECTED = [
    ("2024-05-01 00:00:00", 2, 1, 2, "partial", "2024-05-01 12:01:00", "2024-05-02 00:00:00"),
    ("2024-05-02 00:00:00", 5, 0, None, "so far", "2024-05-02 00:00:00", "2024-05-02 02:17:00"),
]


def cells(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names, times = ("day", "page_views", "clicks", "visitors", "state", "since", "until"), ("day", "since", "until")
    return [tuple(str(row[name]).removesuffix("+00") if name in times else row[name] for name in names) for row in rows]


@pytest.mark.slow
def test_a_running_day_has_its_hours_and_minutes_that_have_fired(warehouse: Path) -> None:
    command = [sys.executable, "-m", "tidemark.pipeline.cli", "sql", f"--warehouse={warehouse}", "--format=json"]
    days = subprocess.run([*command, DAYS], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert cells(json.loads(days.stdout)) == EXPECTED
    hours = "SELECT count(*) AS n, sum(page_views) AS views, max(state) AS state FROM site_hours"
    hour = [*command, "SELECT state, CAST(covered_from AS STRING) AS since FROM site_hours ORDER BY 2 LIMIT 2"]
    firsts = json.loads(subprocess.run(hour, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout)
    assert [row["state"] for row in firsts] == ["partial", "final"]
    found = subprocess.run([*command, hours], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    (row,) = json.loads(found.stdout)
    # Of 12:00, 23:00, and the next day's 00:00, 01:00 and 02:00; the last one is running.
    assert (row["n"], int(row["views"]), row["state"]) == (5, 7, "so far")


@pytest.mark.slow
def test_the_dashboard_of_visitors_has_a_column_for_each_state(warehouse: Path) -> None:
    panels = json.loads((FOLDER / "visitors.json").read_text())["panels"]
    database = Database(str(warehouse), "256m")
    found = {}
    for panel in panels:
        (target,) = panel["targets"]
        asked = re.sub(
            r"\$__timeFilter\((\w+)\)",
            r"\1 BETWEEN '2024-05-01T00:00:00Z' AND '2024-05-03T00:00:00Z'",
            target["rawSql"],
        )
        cursor = database.cursor({"TimeZone": "UTC"}).execute(asked)
        found[panel["title"]] = cursor.to_arrow_reader(1000).read_all().to_pylist()
    days = [{name: value for name, value in row.items() if name != "time"} for row in found["Page views by day"]]
    assert days == [
        {"final": None, "complete": None, "so far": None, "partial": 2},
        {"final": None, "complete": None, "so far": 5, "partial": None},
    ]
    assert [row["visitors (about)"] for row in found["Days"]] == [None, 2]
    assert len(found["Page views by hour"]) == 5


@pytest.mark.jvm
@pytest.mark.slow
@in_turn(2, 4)
def test_spark_has_the_views_too(warehouse: Path) -> None:
    spark = spark_reader()
    for view in views(str(warehouse), Engine.SPARK):
        spark.sql(view.temporary())
    assert cells(spark.sql(DAYS).to_pylist()) == EXPECTED


def test_without_the_reports_of_a_site_there_are_no_such_views() -> None:
    since = {report.name: 0 for report in REPORTS}
    assert [view.name for view in site_views(since, {}, Engine.DUCKDB)] == ["site_days", "site_hours"]
    assert site_views({name: since[name] for name in ("site_by_minute", "site_by_hour")}, {}, Engine.DUCKDB) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("report", "noun"), [("site_by_hour", "day"), ("site_by_minute", "day"), ("site_by_minute", "hour")]
)
def test_a_running_span_of_whose_windows_some_were_removed_is_unknown(site: Site, report: str, noun: str) -> None:
    retention = {report: TableRetention(rows_ms=0)}
    remove_by_age(str(site.warehouse), retention, site.policy, site.watermark, site.number, now=0)
    database = Database(str(site.warehouse), "256m")
    sql = f"SELECT page_views, clicks, state, covered_until FROM site_{noun}s ORDER BY window_start DESC LIMIT 1"  # noqa: S608 - ours
    cursor = database.cursor({"TimeZone": "UTC"}).execute(sql)
    (newest,) = cursor.fetchall()
    assert newest == (None, None, "unknown", None)


@pytest.mark.slow
def test_a_day_in_whose_midst_the_reports_were_added_again_is_unknown(tmp_path: Path) -> None:
    """Events of 02:00 and 03:00 are counted, not that of 05:00, which was read while the reports were left out."""
    others = (Report("page_views", Grid(MINUTE, MINUTE), 5 * MINUTE),)
    with_site, without = (replace(POLICY, reports=(*others, *reports), totals=None) for reports in (REPORTS, ()))
    site = Site(tmp_path, with_site).open()
    site.batch(Event(MIDNIGHT + 120)).batch(Event(MIDNIGHT + 180)).batch(Event(MIDNIGHT + 250))
    site.policy = without
    site.open().batch(Event(MIDNIGHT + 300))
    site.policy = with_site
    site.open().batch(Event(MIDNIGHT + 400)).batch(Event(2 * MIDNIGHT + MIDNIGHT + 10)).batch(
        Event(2 * MIDNIGHT + MIDNIGHT + 100)
    )
    command = [sys.executable, "-m", "tidemark.pipeline.cli", "sql", f"--warehouse={tmp_path}", "--format=json"]
    days = subprocess.run([*command, DAYS], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert cells(json.loads(days.stdout)) == [
        ("2024-05-02 00:00:00", None, None, None, "unknown", "None", "None"),
        ("2024-05-03 00:00:00", 1, 0, None, "so far", "2024-05-03 00:00:00", "2024-05-03 01:40:00"),
    ]
