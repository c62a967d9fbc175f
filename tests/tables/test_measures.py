"""Measures of every kind of windows equal those of a row's events, also late and corrected, compacted or not."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.support.conservation import violations
from tests.support.live_views import READERS
from tests.support.seeds import drawn
from tests.support.warehouse import milliseconds, rows
from tests.verify.priced_site import FIELDS, PricedSite, price_of
from tests.verify.site import MINUTE, NOON, POLICY, Event, Site
from tidemark.pipeline.ddsketch import bucket_of, number_of
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.slow
NOT_SO_FAR = ("pages", "spread_p50", "spread_p99_9", "seen", "seen_cut", "way", "way_cut")
OWN = tuple(name for measure in FIELDS for name in measure.measure_names)
MEASURES = ("page_views", "last_page_url", "first_seen", "last_seen", *OWN)
REPORTS = {
    "grid": Report("grid", Grid(10 * MINUTE, 10 * MINUTE), 5 * MINUTE, measures=MEASURES),
    "slides": Report("slides", Grid(10 * MINUTE, 5 * MINUTE), 5 * MINUTE, (), measures=(*MEASURES, "unique_users")),
    "grows": Report("grows", Cumulate(20 * MINUTE, 5 * MINUTE), 5 * MINUTE, (), measures=(*MEASURES, "unique_users")),
    "hours": Report("hours", Calendar(60 * MINUTE, "Europe/Berlin"), 0, ("page_url",), measures=MEASURES),
    "sessions": Report("sessions", Sessions(5 * MINUTE), 5 * MINUTE, measures=MEASURES),
    "landings": Report(
        "landings",
        Grid(10 * MINUTE, 10 * MINUTE),
        5 * MINUTE,
        (),
        measures=(*MEASURES, "unique_users", "sessions_begun"),
        session_gap_ms=5 * MINUTE,
    ),
}
BATCHES = [
    [Event(1, "ann", "/a"), Event(2, "bob", "/b"), Event(3, "ann", "/b"), Event(3, "ann", "/c"), Event(2, "dan", None)],
    [Event(11, "ann", "/d"), Event(12, "bob", "/a")],
    [Event(8, "bob", "/z"), Event(0.5, "ann", "/y")],
    [Event(40, "ann", "/q"), Event(42, "ann", "/r")],
    [Event(9, "ann", "/x"), Event(0.2, "bob", "/w"), Event(13, "cid", "/n"), Event(1.5, "bob", "/m")],
    [Event(200, "bob", "/k")],
]
WATERMARKS = [None, 3, 12, 12, 42, 42]
"""From before each batch."""


@pytest.fixture(params=drawn([1, 99], 1), ids=["compacted", "as_it_is"])
def every(request: pytest.FixtureRequest) -> int:
    """Number of batches after which panes are compacted."""
    return int(request.param)


def played(warehouse: Path, report: Report, every: int) -> Site:
    policy = replace(POLICY, reports=(replace(report, field_measures=FIELDS),), totals=None)
    site = PricedSite(warehouse, policy, tuning=Tuning(merged_runs=2)).open()
    for number, batch in enumerate(BATCHES, 1):
        site.batch(*batch)
        if number % every == 0:
            site.compact()
    return site


@pytest.mark.parametrize("name", REPORTS)
def test_a_row_has_the_measures_of_its_events(name: str, every: int, tmp_path: Path) -> None:
    played(tmp_path, REPORTS[name], every)
    assert_measures(tmp_path, REPORTS[name], is_corrected=False)


@pytest.mark.parametrize("name", REPORTS)
def test_a_row_has_the_measures_of_its_corrections_too(name: str, every: int, tmp_path: Path) -> None:
    played(tmp_path, REPORTS[name], every).correct()
    assert_measures(tmp_path, REPORTS[name], is_corrected=True)


def test_a_count_window_has_the_measures_of_its_events(every: int, tmp_path: Path) -> None:
    played(tmp_path, Report("pairs", Counts(2), 0, measures=MEASURES), every)
    by_user: dict[str, list[Event]] = {}
    for event in chain.from_iterable(BATCHES):
        by_user.setdefault(event.user, []).append(event)
    pairs = [
        expected_measures(events[at : at + 2]) for events in by_user.values() for at in range(0, len(events) - 1, 2)
    ]
    found = [{measure: as_milliseconds(row[measure]) for measure in MEASURES} for row in rows(tmp_path, "pairs")]
    assert sorted(map(str, found)) == sorted(map(str, pairs))
    assert not violations(tmp_path)


def assert_measures(warehouse: Path, report: Report, *, is_corrected: bool) -> None:
    assert not violations(warehouse)
    found = rows(warehouse, report.name)
    assert len(found) > 1
    for row in found:
        among = [
            event
            for batch, watermark in zip(BATCHES, WATERMARKS, strict=True)
            for event in batch
            if is_in(row, event, report.keys) and (is_corrected or is_in_time(row, event, report, watermark))
        ]
        assert {measure: as_milliseconds(row[measure]) for measure in MEASURES} == expected_measures(among), row
        if "unique_users" in row:
            assert row["unique_users"] == len({event.user for event in among})


def is_in(row: dict[str, Any], event: Event, keys: Iterable[str]) -> bool:
    values = {"user_id": event.user, "page_url": event.page}
    start, end = milliseconds(row["window_start"]), milliseconds(row["window_end"])
    return start <= event.time < end and all(row[key] == values[key] for key in keys)


def is_in_time(row: dict[str, Any], event: Event, report: Report, watermark: int | None) -> bool:
    """Whether the window of the row, or of a session the event's own part of it, was not closed."""
    end = event.time + 5 * MINUTE if report.name == "sessions" else milliseconds(row["window_end"])
    return watermark is None or end > NOON + watermark * MINUTE - report.allowed_lateness_ms


def expected_measures(events: Sequence[Event]) -> dict[str, Any]:
    times = [event.time for event in events]
    latest = max(events, key=lambda event: (event.time, event.page or ""))
    prices = [price for event in events if (price := price_of(event)) is not None]
    pages = [(event.time, event.page) for event in events if event.page is not None]
    return {
        "page_views": len(events),
        "last_page_url": latest.page,
        "first_seen": min(times),
        "last_seen": max(times),
        "average": sum(prices) / (100 * len(prices)) if prices else None,
        "entry": min(pages)[1] if pages else None,
        "exit": max(pages)[1] if pages else None,
        "highest": Decimal(max(prices)).scaleb(-2) if prices else None,
        "lowest": min(prices, default=None),
        "pages": len({page for _, page in pages}),
        "revenue": Decimal(sum(prices)).scaleb(-2),
        "seen": sorted({page for _, page in pages})[:3],
        "seen_cut": int(len({page for _, page in pages}) > 3),
        "spread_p50": quantile_of(prices, 2),
        "spread_p99_9": quantile_of(prices, 1),
        # Events are in the order of their offsets, and so are those of one time.
        "way": [page for _, page in sorted(pages, key=lambda each: each[0])][:3],
        "way_cut": max(len(pages) - 3, 0),
    }


def quantile_of(prices: Sequence[int], part: int) -> Decimal | None:
    """Returns the middle of the bucket of the lowest price that one in `part` does not exceed; there are few prices."""
    if not prices:
        return None
    price = sorted(prices)[-(-len(prices) // part) - 1]
    return Decimal(number_of(bucket_of(price))).scaleb(-2)


def as_milliseconds(cell: Any) -> Any:
    return milliseconds(cell) if isinstance(cell, datetime) else cell


@pytest.mark.core
@pytest.mark.parametrize("reader", ["delta-rs", "duckdb"])
@pytest.mark.parametrize(("name", "windows"), [("grid", 1), ("grows", 4)])
def test_the_live_view_has_the_measures_of_open_windows(name: str, windows: int, reader: str, tmp_path: Path) -> None:
    played(tmp_path, REPORTS[name], 99)
    view = READERS[reader](str(tmp_path), name).to_pylist()
    found = [row for row in view if row["state"] == "open"]
    # These engines cannot merge sketches.
    expected = expected_measures(BATCHES[-1]) | dict.fromkeys(NOT_SO_FAR)
    assert [{measure: as_milliseconds(row[measure]) for measure in MEASURES} for row in found] == [expected] * windows
