"""Measures `/traffic.json` on the real server, and a DuckDB statement over the same files."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import duckdb
from rich.table import Table

from benchmarks.report import figures_table
from benchmarks.site_year import END_MS, commit_batch, write_site
from benchmarks.views import ask, dashboard_of
from tidemark.pipeline.instants import moment

_APART_S: Final = 0.6
"""Pause in seconds, so that no request gets the cached answer of the previous request."""
_DAYS: Final = 90
_TODAY: Final = moment(END_MS).date()
QUESTIONS: Final = {
    "90 days": f"/traffic.json?period={_TODAY - timedelta(_DAYS)}..{_TODAY}",
    "90 days of a page": f"/traffic.json?period={_TODAY - timedelta(_DAYS)}..{_TODAY}&page_url=/p/7",
    "7 days, compared": f"/traffic.json?period={_TODAY - timedelta(7)}..{_TODAY}&compare=previous",
    "today so far": f"/traffic.json?period={_TODAY}..{_TODAY}",
}
DUCKDB: Final = "DuckDB: 90 days, figures and lists"
_FIGURES_SQL: Final = """
WITH days AS (SELECT * FROM site_by_day WHERE window_start >= $start),
users AS (SELECT * FROM site_users_by_day WHERE window_start >= $start),
visits AS (SELECT * FROM site_visits WHERE window_start >= $start)
SELECT (SELECT sum(page_views) FROM days), (SELECT count(DISTINCT user_id) FROM users),
  (SELECT (count(*), median(duration_ms), avg(bounced)) FROM visits),
  (SELECT list(views) FROM (SELECT sum(page_views) AS views FROM days GROUP BY window_end)),
  (SELECT list(number) FROM (SELECT count(DISTINCT user_id) AS number FROM users GROUP BY window_end)),
  {lists}
"""
_LISTS: Final = (
    ("site_pages_by_day", "page_url", "sum(page_views)"),
    ("users", "user_id", "sum(page_views)"),
    ("site_referrers_by_day", "referring_host", "sum(page_views)"),
    *(("visits", text, "count(*)") for text in ("entry_page", "exit_page", "referring_host")),
)
"""The tables, keys and orders of the lists."""


def traffic_by_rows(numbers: Sequence[int], looks: int, work: Path) -> dict[int, dict[str, dict[str, float]]]:
    """Returns median and highest seconds of each question by rows of a year; commits a batch before each request."""
    found = {}
    for number in numbers:
        warehouse = work / f"traffic-{number}"
        write_site(str(warehouse), number)
        with dashboard_of(warehouse, work) as (port, dashboard):
            found[number] = {
                name: _seconds(partial(ask, port, path), looks, partial(_commit, str(warehouse)))
                for name, path in QUESTIONS.items()
            }
            dashboard.check()
        found[number][DUCKDB] = _seconds(_statement(warehouse), looks, lambda: None)
    return found


def _commit(warehouse: str) -> None:
    commit_batch(warehouse)
    time.sleep(_APART_S)


def _statement(warehouse: Path) -> Callable[[], object]:
    """Returns a call that reads the files by one DuckDB statement, without states, open windows and live visits."""
    engine = duckdb.connect()
    for folder in warehouse.glob("site_*"):
        engine.execute(f"CREATE VIEW {folder.name} AS SELECT * FROM read_parquet('{folder}/*.parquet')")  # noqa: S608 - ours
    lists = ", ".join(
        f"(SELECT list(top) FROM (SELECT ({key}, {number}) AS top FROM {table} WHERE window_start >= $start "  # noqa: S608 - ours
        f"GROUP BY {key} ORDER BY {number} DESC LIMIT 10))"
        for table, key, number in _LISTS
    )
    start = moment(END_MS) - timedelta(_DAYS)
    return lambda: engine.execute(_FIGURES_SQL.format(lists=lists), {"start": start}).fetchall()


def _seconds(ask_once: Callable[[], object], looks: int, before: Callable[[], object]) -> dict[str, float]:
    return {"median": median(found := [*_looks(ask_once, looks, before)]), "highest": max(found)}


def _looks(ask_once: Callable[[], object], looks: int, before: Callable[[], object]) -> Iterator[float]:
    """Yields the seconds of each look, after one that warms up."""
    for look in range(looks + 1):
        before()
        begun = time.perf_counter()
        ask_once()
        if look:
            yield time.perf_counter() - begun


def render(found: dict[int, dict[str, dict[str, float]]]) -> Table:
    """Returns a table with a row for each question, and the median and highest time for each number of rows."""
    heads = ["question", *(f"{number:,} rows: {kind}" for number in found for kind in ("median ms", "highest"))]
    rows = [
        [name, *(f"{found[number][name][kind] * 1000:.0f}" for number in found for kind in ("median", "highest"))]
        for name in (*QUESTIONS, DUCKDB)
    ]
    return figures_table("Figures of periods, by rows of a year of site_* reports", heads, rows, words=1)
