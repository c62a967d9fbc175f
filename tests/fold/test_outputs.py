"""Rows of panes and dead letters, made on the driver of the rows of a fold, without Spark."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.fold import outputs
from tidemark.pipeline.fold.grouping_sets import groupings
from tidemark.pipeline.fold.outputs import dead_letters, panes
from tidemark.pipeline.fold.rejected_fields import USER

MINUTE = 60_000
VIEWS = Report("page_views", Grid(2 * MINUTE, 2 * MINUTE), MINUTE)
VISITS = Report("visits", Sessions(MINUTE), MINUTE)
CONSUMERS = (VIEWS, VISITS)
GROUPS = groupings(CONSUMERS)
SCHEMA = pa.schema(
    {
        **dict.fromkeys((c.GROUPING, c.FLAGS, c.CHECK, c.PARTITION), pa.int32()),
        **dict.fromkeys((c.PANE_START, c.OFFSET, c.KAFKA_TIMESTAMP, c.EVENT_TIME), pa.int64()),
        **dict.fromkeys((c.RECORDS, c.PAGE_VIEWS, c.CLICKS, c.EVENTS, "first_time", "last_time"), pa.int64()),
        **dict.fromkeys((c.USER_ID, USER), pa.string()),
        **dict.fromkeys((c.KEY, c.VALUE), pa.binary()),
    }
)


def folded(*rows: Mapping[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{c.GROUPING: 0, c.FLAGS: 0, c.PARTITION: 0, **row} for row in rows], SCHEMA)


def counted(minute: int, user: str = "ann", flags: int = 0, records: int = 1) -> dict[str, Any]:
    """A group of counted events within a pane of a minute."""
    time = minute * MINUTE
    times = {c.PANE_START: time, "first_time": time, "last_time": time}
    counts = {c.RECORDS: records, c.PAGE_VIEWS: records, c.CLICKS: 0, c.EVENTS: records}
    return {c.CHECK: int(Check.PASSED), c.FLAGS: flags, c.USER_ID: user, **times, **counts}


def flag(condition: str) -> int:
    """The flag of the only condition whose SQL has this text."""
    (index,) = (index for index, sql in enumerate(GROUPS.flags) if condition in sql)
    return 1 << index


def panes_of(rows: pa.Table, watermark: int | None, *names: str) -> list[tuple[Any, ...]]:
    made = panes(rows, CONSUMERS, GROUPS, 7, watermark).to_pylist()
    return sorted(tuple(row[name] for name in (c.REPORT, c.PANE_START, *names)) for row in made)


def test_a_pane_has_its_batch_the_watermark_before_it_and_the_end_up_to_which_windows_were_closed() -> None:
    #  minute   0       2       4
    #  window   [ closed |  open  |    closed until 2, the watermark of minute 3 minus a minute
    rows = folded(counted(2), counted(3))
    expected = (7, 3 * MINUTE, 2 * MINUTE)
    made = panes_of(rows, 3 * MINUTE, c.BATCH, c.WATERMARK, c.CLOSED_UNTIL)
    assert made == [("page_views", 2 * MINUTE, *expected)] * 2 + [
        ("visits", 2 * MINUTE, *expected), ("visits", 3 * MINUTE, *expected)
    ]  # fmt: skip
    assert panes_of(rows, None, c.WATERMARK)[0][2] == rules.NO_WATERMARK


def test_an_event_that_is_too_late_for_one_report_counts_in_the_others() -> None:
    assert [row[0] for row in panes_of(folded(counted(1)), 3 * MINUTE)] == ["visits"]
    rows = folded(counted(2, flags=flag("<= greatest(")))
    assert [row[0] for row in panes_of(rows, 3 * MINUTE)] == ["page_views"]


def test_reports_with_the_same_rows_have_the_panes_that_each_has_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made, rows_of = list[str](), outputs._rows

    def noted(rows: pa.Table, consumer: Report, *rest: Any) -> pa.Table:
        made.append(consumer.name)
        return rows_of(rows, consumer, *rest)

    monkeypatch.setattr(outputs, "_rows", noted)
    long = replace(VIEWS, name="long", windows=Grid(4 * MINUTE, 2 * MINUTE))
    by_dimension = [
        replace(VIEWS, name=name, keys=(name,), dimensions=(Dimension(name, path=name),)) for name in ("city", "plan")
    ]
    both = replace(
        VIEWS, name="both", keys=("city", "plan"), dimensions=tuple(each.dimensions[0] for each in by_dimension)
    )
    turned = replace(both, name="turned", keys=both.keys[::-1], dimensions=both.dimensions[::-1])
    consumers = (VIEWS, long, VISITS, *by_dimension, both, turned)
    groups = groupings(consumers)
    some = [counted(1), counted(2), counted(2, "bob"), counted(3)]
    rows = folded(*({**row, c.GROUPING: index} for index in range(len(groups.outputs)) for row in some))
    for name in ("city", "plan"):
        rows = rows.append_column(f"dimension {name}", pa.array([name] * len(rows)))
    for watermark, computed in ((None, 6), (3 * MINUTE, 7)):  # then minute 1 is too late for the shorter windows only
        alone = [panes(rows, [consumer], groups, 7, watermark) for consumer in consumers]
        assert all(len(each) for each in alone)
        made.clear()
        assert panes(rows, consumers, groups, 7, watermark).to_pylist() == pa.concat_tables(alone).to_pylist()
        assert len(made) == computed


@pytest.mark.parametrize(
    ("measures", "keys", "sketched"),
    [
        (["unique_users"], ("page_url",), ("user_id",)),
        (["page_views"], ("page_url",), ()),
        (["unique_users", "last_page_url"], ("page_url", "user_id"), ()),
        (["unique_users", "sessions_begun"], ("page_url", "user_id"), ()),
    ],
)
def test_sketches_are_made_by_tasks_unless_the_driver_adds_up_their_rows(
    measures: list[str], keys: tuple[str, ...], sketched: tuple[str, ...]
) -> None:
    by = [] if "last_page_url" in measures else ["page_url"]
    report = replace(VIEWS, keys=tuple(by), measures=tuple(measures), session_gap_ms=MINUTE)
    (output,) = groupings([report]).outputs
    assert (output.rows.keys, output.rows.sketched) == (keys, sketched)


@pytest.mark.parametrize("order", [1, -1])
def test_the_panes_of_shared_rows_divide_those_of_all_their_readers(order: int) -> None:
    (output,) = groupings([VIEWS, replace(VIEWS, name="long", windows=Grid(6 * MINUTE, 6 * MINUTE))][::order]).outputs
    assert (output.pane_ms, output.shift_ms) == (2 * MINUTE, 0)


def test_an_event_is_late_for_sessions_if_its_own_window_had_fired() -> None:
    fired = flag("<= watermark")
    rows = folded(counted(2, flags=fired, records=3), counted(3, "bob", records=2))
    late = panes_of(rows, 3 * MINUTE, c.LATE_EVENTS, c.PAGE_VIEWS)
    assert late[2:] == [("visits", 2 * MINUTE, 3, 3), ("visits", 3 * MINUTE, 0, 2)]


def test_a_rejected_record_is_a_dead_letter_with_its_bytes_and_the_watermark_by_which_it_was_judged() -> None:
    record = {c.PARTITION: 1, c.OFFSET: 5, c.KAFKA_TIMESTAMP: 9, c.EVENT_TIME: 8, c.KEY: b"k", c.VALUE: b"v"}
    rows = folded(counted(2), {c.CHECK: int(Check.TOO_LATE), USER: "bob", c.RECORDS: 1, **record})
    [letter] = dead_letters(rows, "t", 7, 3 * MINUTE, {}).to_pylist()
    assert letter == record | {
        c.REASON: "too_late", c.DETAIL: letter[c.DETAIL], c.TOPIC: "t", c.USER_ID: "bob", c.WATERMARK: 3 * MINUTE,
        c.BATCH: 7,
    }  # fmt: skip
