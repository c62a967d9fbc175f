"""The rows that each kind of windows makes of panes: which panes count in which window, without a service."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.firing import CountsDue, Firing, SessionsDue, WatermarkStep, WindowsDue
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.results.applied import AppliedCorrections
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.results.levels import runs_of
from tidemark.pipeline.results.result_kind import SourceTables
from tidemark.pipeline.results.result_table import Results
from tidemark.pipeline.tables.file_statistics import statistics_of
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.schemas import PANES, result_of
from tidemark.pipeline.tuning import Tuning

MINUTE = 60_000
VIEWS = Report("page_views", Grid(2 * MINUTE, MINUTE), MINUTE)
VISITS = Report("visits", Sessions(2 * MINUTE), 0)
PAIRS = Report("pairs", Counts(2), 0)
LAST = Report("last", SlidingCounts(3, 2), 0)
REPORTS = (VIEWS, VISITS, PAIRS, LAST)


class Panes:
    """A warehouse with panes of user ann, each a page view at the start of its minute."""

    def __init__(self, warehouse: Path) -> None:
        self.warehouse = str(warehouse)
        for spec in (PANES, *map(result_of, REPORTS)):
            Handle.of(spec, self.warehouse)

    def add(
        self, report: Report, batch: int, minutes: Iterable[float], watermark: float | None = None, closed: float = -9
    ) -> "Panes":
        """Adds a batch before which the watermark, and the end up to which windows were closed, were these minutes."""
        reached = rules.NO_WATERMARK if watermark is None else round(watermark * MINUTE)
        rows = []
        for position, minute in enumerate(minutes):
            time = round(minute * MINUTE)
            values = {"batch": batch, "report": report.name, "user_id": "ann", "page_views": 1, "clicks": 0}
            values |= {"pane_start": time - time % report.pane_ms if report.pane_ms else time, "late_events": 0}
            values |= {"first_time": time, "last_time": time, "watermark": reached}
            values |= {"closed_until": round(closed * MINUTE), "record_position": 1000 // batch + position}
            rows.append({name: values.get(name) for name in PANES.schema.names})
        assert Handle(PANES.uri(self.warehouse)).swap(pa.Table.from_pylist(rows, PANES.schema), by=None)
        return self

    def publish(self, report: Report, firing: Firing, batch: int) -> list[tuple[float, float, int, int]]:
        """Publishes what is due from panes up to `batch`; returns the table: start, end, page views, late events."""
        results = Results(self.warehouse, result_of(report))
        panes = DeltaTable(PANES.uri(self.warehouse))
        plan = kind_of(report).plan(firing, batch, SourceTables(panes, results.handle.table, AppliedCorrections("", 0)))
        for chunk in plan.chunks:
            assert results.finish(chunk.rows, chunk.where, batch, firing.closed_until)
        rows = DeltaTable(result_of(report).uri(self.warehouse)).to_pyarrow_table().to_pylist()
        return sorted(map(_shown, rows))

    def merges(self, report: Report, batch: int, final: float) -> list[list[dict[str, Any]]]:
        """Returns the rows of each merge, whose windows are final up to a minute; empty for a removal."""
        panes = DeltaTable(PANES.uri(self.warehouse))
        runs = runs_of(statistics_of(panes), batch)[report.name]
        kind = kind_of(report, tuning=Tuning(merged_runs=2))
        merged = [rows for _, rows in kind.merges(runs, panes, round(final * MINUTE), 0)]
        return [[] if rows is None else _table(rows).to_pylist() for rows in merged]


def _shown(row: dict[str, Any]) -> tuple[float, float, int, int]:
    start, end = (ms_of(row[name]) / MINUTE for name in ("window_start", "window_end"))
    return start, end, row["page_views"], row["late_events"]


def _table(rows: Any) -> pa.Table:
    return rows if isinstance(rows, pa.Table) else rows.rows().read_all()


@pytest.fixture
def panes(tmp_path: Path) -> Panes:
    return Panes(tmp_path)


def windows_due(*minutes: int, again: bool = False) -> WindowsDue:
    ends = frozenset(minute * MINUTE for minute in minutes)
    fired_by = dict.fromkeys(ends, 1)
    return WindowsDue(refired=ends, fired_by=fired_by) if again else WindowsDue(fired=ends, fired_by=fired_by)


def test_an_event_counts_in_each_of_its_windows_that_was_not_closed_when_it_came(panes: Panes) -> None:
    #  minute    1     2     3     4
    #  windows   [ closed    )           the event of minute 2 comes when windows up to minute 3 were closed
    #  and              [           )
    panes.add(VIEWS, 1, [1, 2]).add(VIEWS, 2, [2], watermark=4, closed=3)
    assert panes.publish(VIEWS, windows_due(3, 4), 2) == [(1, 3, 2, 0), (2, 4, 2, 1)]


def test_windows_that_the_table_has_are_replaced_and_later_windows_appended(panes: Panes) -> None:
    panes.add(VIEWS, 1, [1, 2])
    assert panes.publish(VIEWS, windows_due(3), 1) == [(1, 3, 2, 0)]
    panes.add(VIEWS, 2, [2], watermark=3)
    assert panes.publish(VIEWS, windows_due(3, again=True), 2) == [(1, 3, 3, 1)]
    assert panes.publish(VIEWS, windows_due(4), 3) == [(1, 3, 3, 1), (2, 4, 2, 0)]


def test_panes_of_final_windows_are_removed_and_late_events_are_not_merged_with_others(panes: Panes) -> None:
    #  the pane of minute 5 is in windows that end at 6 and 7: batch 4 is late for one, batch 5 for both
    panes.add(VIEWS, 1, [0]).add(VIEWS, 2, [5]).add(VIEWS, 3, [5], watermark=1)
    panes.add(VIEWS, 4, [5], watermark=6).add(VIEWS, 5, [5], watermark=7)
    removed, merged = panes.merges(VIEWS, 5, final=2)
    rows = sorted((row["watermark"] // MINUTE, row["page_views"]) for row in merged)
    assert (removed, rows) == ([], [(rules.NO_WATERMARK // MINUTE, 2), (6, 1), (7, 1)])


def test_panes_of_a_batch_that_is_not_committed_are_neither_merged_nor_removed(panes: Panes) -> None:
    panes.add(VIEWS, 1, [5]).add(VIEWS, 2, [5]).add(VIEWS, 3, [5])
    [merged] = panes.merges(VIEWS, 2, final=0)
    assert [row["page_views"] for row in merged] == [2]
    assert panes.merges(VIEWS, 2, final=9) == [[]]


def sessions_due(after: float, until: float) -> SessionsDue:
    steps = (WatermarkStep(round(until * MINUTE), 1),)
    return SessionsDue(after=round(after * MINUTE), until=round(until * MINUTE), steps=steps)


def test_a_session_ends_a_gap_after_its_last_event_and_replaces_what_was_not_closed(panes: Panes) -> None:
    panes.add(VISITS, 1, [1, 2.5, 6])
    assert panes.publish(VISITS, sessions_due(0, 5), 1) == [(1, 4.5, 2, 0)]
    panes.add(VISITS, 2, [4.25])
    assert panes.publish(VISITS, sessions_due(0, 9), 2) == [(1, 8, 4, 0)]


def test_an_event_does_not_join_a_session_that_was_closed_when_it_came(panes: Panes) -> None:
    panes.add(VISITS, 1, [1, 2.5]).add(VISITS, 2, [4], closed=4.5)
    assert panes.publish(VISITS, sessions_due(0, 9), 2) == [(1, 4.5, 2, 0), (4, 6, 1, 0)]


def test_full_windows_by_count_take_events_in_the_order_of_batches_and_come_once(panes: Panes) -> None:
    #  batch     1     1     2     2     2
    #  minute    4     5     1     2     3
    #  windows   | first     | second    |
    panes.add(PAIRS, 1, [4, 5]).add(PAIRS, 2, [1, 2, 3])
    first, second, third = ((start, end + 1 / MINUTE, 2, 0) for start, end in ((4, 5), (1, 2), (3, 6)))
    assert panes.publish(PAIRS, CountsDue(after_batch=0), 2) == sorted([first, second])
    # Also if the state of the process does not know that the publication has landed.
    panes.add(PAIRS, 3, [6])
    assert panes.publish(PAIRS, CountsDue(after_batch=0), 3) == sorted([first, second, third])


def test_every_second_event_ends_a_window_of_the_last_three(panes: Panes) -> None:
    #  batch     1     1     2     2     2
    #  minute    4     5     1     2     3
    #  windows   | first |
    #  and             | second    |     the event of minute 3 waits for the next
    panes.add(LAST, 1, [4, 5]).add(LAST, 2, [1, 2, 3])
    first, second, third = ((start, end + 1 / MINUTE, n, 0) for start, end, n in ((4, 5, 2), (1, 5, 3), (2, 6, 3)))
    assert panes.publish(LAST, CountsDue(after_batch=0), 2) == sorted([first, second])
    # Also if the state of the process does not know that the publication has landed.
    panes.add(LAST, 3, [6])
    assert panes.publish(LAST, CountsDue(after_batch=0), 3) == sorted([first, second, third])


def test_events_before_the_next_window_are_merged_to_a_row_and_keep_their_number(panes: Panes) -> None:
    panes.add(LAST, 1, [0]).add(LAST, 2, [1]).add(LAST, 3, [2]).add(LAST, 4, [3, 4])
    [merged] = panes.merges(LAST, 4, final=0)
    rows = sorted((row["batch"], row["record_position"] is None, row["page_views"]) for row in merged)
    assert rows == [(3, True, 3), (4, False, 1), (4, False, 1)]
