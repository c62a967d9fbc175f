"""Count windows that slide equal the last events of each key, however the events are cut, compacted and erased.

With a count of 5 and a slide of 2 the windows of a key's events 1 to 8 are 1-2, 1-4, 2-6 and 4-8.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.support.conservation import assert_conserved
from tests.support.live_views import READERS
from tests.support.warehouse import milliseconds, rows
from tests.verify.site import POLICY, Event, Site
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.count import SlidingCounts
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.slow
TUNING = Tuning(merged_runs=2, statement_rows=3)
MEASURES = ("page_views", "clicks", "last_page_url", "first_seen", "last_seen")
USER, PAGE = "user_id", "page_url"


class Batch(NamedTuple):
    """Events of a batch, and what happens after it."""

    events: Sequence[Event]
    is_compacted: bool
    is_start: bool


EVENTS = st.builds(Event, st.integers(0, 9), st.sampled_from("ab"), st.sampled_from(["/", "/x", None]), st.booleans())
BATCHES = st.lists(
    st.builds(Batch, st.lists(EVENTS, min_size=3, max_size=9), st.booleans(), st.booleans()), min_size=2, max_size=5
)
SHAPES = st.integers(2, 7).flatmap(lambda size: st.builds(SlidingCounts, st.just(size), st.integers(1, size - 1)))
KEYS = st.sampled_from([(), (USER,), (PAGE,), (USER, PAGE)])


def report_of(windows: SlidingCounts, keys: tuple[str, ...] = (USER,)) -> Report:
    return Report("last", windows, 0, keys=keys, measures=MEASURES)


def opened(warehouse: Path, report: Report) -> Site:
    return Site(warehouse, replace(POLICY, reports=(report,), totals=None), tuning=TUNING).open()


def expected(report: Report, events: Iterable[Event]) -> Counter[tuple[object, ...]]:
    """Returns the windows of the events, which are in their order: keys, start, end, measures."""
    windows, elements = Counter[tuple[object, ...]](), dict[tuple[object, ...], list[Event]]()
    assert isinstance(report.windows, SlidingCounts)
    for event in events:
        of_key = elements.setdefault(key_of(report, event), [])
        of_key.append(event)
        if len(of_key) % report.windows.slide == 0:
            windows[row_of(report, of_key[-report.windows.size :])] += 1
    return windows


def key_of(report: Report, event: Event) -> tuple[object, ...]:
    return tuple({USER: event.user, PAGE: event.page}[key] for key in report.keys)


def row_of(report: Report, events: Sequence[Event]) -> tuple[object, ...]:
    clicks, times = sum(event.click for event in events), [event.time for event in events]
    page = max(events, key=lambda event: (event.time, event.page is not None, event.page or "")).page
    bounds = (min(times), max(times) + 1)
    return (*key_of(report, events[-1]), *bounds, len(events) - clicks, clicks, page, min(times), max(times))


def published(warehouse: Path, report: Report) -> Counter[tuple[object, ...]]:
    return Counter(cells(report, row) for row in rows(warehouse, report.name))


def cells(report: Report, row: dict[str, Any]) -> tuple[object, ...]:
    names = (*report.keys, "window_start", "window_end", *MEASURES)
    values = (row[name] for name in names)
    return tuple(milliseconds(value) if hasattr(value, "tzinfo") else value for value in values)


@settings(deadline=None, phases=[Phase.explicit, Phase.generate], max_examples=3)
@given(SHAPES, KEYS, BATCHES)
@example(SlidingCounts(5, 2), (USER,), [Batch([Event(n)], is_compacted=True, is_start=n == 5) for n in range(11)])
def test_windows_are_the_last_events_of_a_key(
    windows: SlidingCounts, keys: tuple[str, ...], batches: Sequence[Batch]
) -> None:
    report = report_of(windows, keys)
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder)
        site = opened(warehouse, report)
        for batch in batches:
            site.batch(*batch.events)
            if batch.is_compacted:
                site.compact()
            if batch.is_start:
                site.open()
        events = [*chain.from_iterable(batch.events for batch in batches)]
        assert published(warehouse, report) == expected(report, events)
        assert next_windows(warehouse, report) == Counter(waiting(report, events))
        assert_conserved(warehouse)


def waiting(report: Report, events: Iterable[Event]) -> Iterable[tuple[object, ...]]:
    """Yields for each key its events that are in the next window already."""
    windows, elements = report.windows, dict[tuple[object, ...], list[Event]]()
    assert isinstance(windows, SlidingCounts)
    for event in events:
        elements.setdefault(key_of(report, event), []).append(event)
    for of_key in elements.values():
        missing = windows.slide - len(of_key) % windows.slide
        yield row_of(report, of_key[-(windows.size - missing) :])


def next_windows(warehouse: Path, report: Report) -> Counter[tuple[object, ...]]:
    live = READERS["duckdb"](str(warehouse), report.name).to_pylist()
    assert {row["state"] for row in live} <= {"open", "closed"}
    return Counter(cells(report, row) for row in live if row["state"] == "open")


def test_compaction_keeps_the_events_of_the_next_window_and_a_row_for_all_before(tmp_path: Path) -> None:
    report = report_of(SlidingCounts(5, 2))
    site = opened(tmp_path, report)
    for minute in range(7):
        site.batch(Event(minute), Event(minute, "bob", click=True) if minute == 0 else Event(minute))
    site.compact()
    panes = [(row["user_id"], row["record_position"] is None, row["page_views"]) for row in rows(tmp_path, "panes")]
    # The next window of ann's 13 events ends with the 14th, and starts with the 10th.
    assert sorted(panes) == [("ann", False, 1)] * 4 + [("ann", True, 9), ("bob", False, 0)]
    assert_conserved(tmp_path)


def test_a_user_who_was_erased_begins_again_and_others_go_on(tmp_path: Path) -> None:
    report = report_of(SlidingCounts(3, 2))
    site = opened(tmp_path, report)
    for minute in range(5):
        site.batch(Event(minute), Event(minute, "bob-who-leaves")).compact()
    erase_person(Settings(warehouse=str(tmp_path)), "bob-who-leaves", timedelta(0))
    assert {row["user_id"] for row in rows(tmp_path, "last")} == {"ann"}
    assert {row["table"]: row["events"] for row in rows(tmp_path, "erasures")}["last"] == 5
    assert_conserved(tmp_path)
    later = [Event(minute, user) for minute in (5, 6) for user in ("ann", "bob-who-leaves")]
    site.batch(*later).compact()
    earlier = [Event(minute) for minute in range(5)]
    assert published(tmp_path, report) == expected(report, [*earlier, *later])
    assert_conserved(tmp_path)
