"""Edges of event time that random streams seldom meet: each test kills a mutant that all others let live."""

from datetime import UTC, datetime

import numpy as np
import pytest

from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.batch import Batch
from tidemark.pipeline.event_time.checks import DETAILS, Check
from tidemark.pipeline.event_time.event_ids import Ids, RememberedIds
from tidemark.pipeline.event_time.firing import (
    CountedBatch,
    CountsDue,
    PublicationState,
    SessionsDue,
    WatermarkStep,
    WindowsDue,
)
from tidemark.pipeline.event_time.malformed import MalformedLimit, MalformedShare
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.tallies import Statistic, Tallies
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.event_time.windows.calendar import Calendar, has_whole_parts
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.measures import TIMES

MINUTE_MS, DAY_MS = 60_000, 86_400_000
YEAR_9998_MS = int(datetime(9998, 1, 1, tzinfo=UTC).timestamp() * 1000)
TUMBLING = Grid(50, 50)
POLICY = Policy(Bounded(10), 60_000, 60_000, (Report("all", TUMBLING, 100),))


@pytest.mark.parametrize(
    ("minutes", "follows"),
    [
        (15, True),
        (45, True),
        (24 * 60, True),
        (48 * 60, True),
        (20, False),
        (75, False),
        (7 * 60, False),
        (1500, False),
    ],
)
def test_sizes_that_can_follow_the_calendar(minutes: int, *, follows: bool) -> None:
    assert has_whole_parts(minutes * MINUTE_MS) is follows


def test_from_9998_on_and_before_1900_the_clocks_of_utc_count() -> None:
    days = Calendar(DAY_MS, "Asia/Kolkata")
    assert days.window(YEAR_9998_MS) == (YEAR_9998_MS, YEAR_9998_MS + DAY_MS)
    assert days.window(YEAR_9998_MS - 1)[0] % DAY_MS == DAY_MS - 5.5 * 60 * MINUTE_MS
    assert days.window(-(2**42)) == (-(2**42) // DAY_MS * DAY_MS, -(2**42) // DAY_MS * DAY_MS + DAY_MS)


def test_only_panes_of_the_calendar_store_the_bounds_of_their_windows() -> None:
    assert Calendar.panes_store_bounds
    assert not Grid.panes_store_bounds


def test_event_times_are_of_the_years_1970_to_9999() -> None:
    last = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) * 1000 + 999
    assert [rules.in_range(time) for time in (0, 1, last, last + 1)] == [False, True, True, False]


def test_the_sentinels_leave_room_for_durations_in_64_bits() -> None:
    assert rules.NO_WATERMARK - rules.LATEST_EVENT_MS > -(2**63)
    assert rules.NEVER + rules.LATEST_EVENT_MS < 2**63


def test_every_check_has_a_code_and_a_detail_of_its_own() -> None:
    assert [check.value for check in Check] == [*range(len(Check))]
    assert DETAILS.keys() == set(Check)


#   watermark 300, closed up to   A: 300 (lateness 0)    B: 280 (lateness 20)
#   A  [200, 250) [250, 300) | [300, 350)                an event is too late for A before 300
#   B  [100, 200) | [200, 300) [300, 400)                an event is too late for B before 200
def test_cutoffs_are_the_earliest_and_the_latest_of_all_reports() -> None:
    reports = [Report("a", TUMBLING, 0), Report("b", Grid(100, 100), 20)]
    assert lateness.cutoffs(reports, 300) == (200, 300)


def test_an_event_at_a_cutoff_is_in_time() -> None:
    assert [lateness.is_too_late(time, 200) for time in (199, 200)] == [True, False]


def test_an_end_is_final_only_up_to_the_certain_watermark() -> None:
    closed_before = Report("a", TUMBLING, 20, closed_before_ms=200)
    assert lateness.finals([closed_before, Report("b", TUMBLING, 20)], 100) == (50, {"a": 100, "b": 80})


def test_the_rules_of_lateness_hold_of_sql() -> None:
    assert str(lateness.is_closed(lateness.Sql("window_end"), lateness.Sql("closed"))) == "window_end <= closed"
    report = Report("a", TUMBLING, 20, closed_before_ms=200)
    assert str(lateness.closed_until_sql(report, "watermark")) == "greatest(watermark - 20, 200)"


def test_sessions_of_a_single_event_end_a_gap_after_it() -> None:
    sessions = Sessions(30)
    assert [*sessions.of(5)] == [(5, 35)]
    assert (sessions.latest_end(5), sessions.earliest_after(35), sessions.has_overlap) == (35, 6, False)


#   batch       1          2         3          4
#   watermark   100        100       100        130
#   events      yes        no        yes        no
#   due         all        nothing   again      what ended since
def test_sessions_are_due_after_events_and_after_the_watermark_moved() -> None:
    sessions = Sessions(30)
    report = Report("all", sessions, 20)
    first, state = sessions.state(report, (), PublicationState(), ()).after_batch(
        CountedBatch(1, {0}, rules.NO_WATERMARK, 100)
    )
    assert (first.after, first.until, first.steps, first.closed_until) == (rules.NO_WATERMARK, 100, ((100, 1),), 80)
    nothing, unchanged = state.after_batch(CountedBatch(2, (), 100, 100))
    assert (nothing.is_empty, unchanged) == (True, state)
    again, state = state.after_batch(CountedBatch(3, {0}, 100, 100))
    assert (again.after, again.until, again.steps) == (80, 100, ((100, 1),))
    later, _ = state.after_batch(CountedBatch(4, (), 100, 130))
    assert (later.after, later.until, later.steps) == (80, 130, ((100, 1), (130, 4)))


#   open windows   [0, 50) [50, 100) [100, 150) [150, 200), all fired; a late event comes to [0, 50)
@pytest.mark.parametrize(("gap_ms", "refired"), [(0, {50}), (50, {50, 100}), (100, {50, 100, 150})])
def test_a_late_event_changes_the_windows_within_the_session_gap(gap_ms: int, refired: set[int]) -> None:
    report = Report("all", TUMBLING, 300, session_gap_ms=gap_ms)
    state = TUMBLING.state(report, {0, 50, 100, 150}, PublicationState(), (WatermarkStep(210, 1),))
    assert state.open_windows == 4
    assert [state.unfired_windows(watermark) for watermark in (rules.NO_WATERMARK, 50, 210)] == [4, 3, 0]
    assert state.after_batch(CountedBatch(2, {0}, 210, 210))[0].refired == refired


def test_a_step_is_noted_once_for_each_pane_that_the_watermark_passes() -> None:
    state = TUMBLING.state(POLICY.reports[0], (), PublicationState(), ())
    assert state.with_step(rules.NO_WATERMARK, 1) == ()
    state = TUMBLING.state(
        POLICY.reports[0], (), PublicationState(), tuple(WatermarkStep(*step) for step in ((50, 1), (99, 2), (100, 3)))
    )
    assert state.steps == ((50, 1), (100, 3))


def test_count_windows_are_published_from_the_first_batch_on_and_no_watermark_reaches_them() -> None:
    counts = Counts(3)
    report = Report("all", counts, 0)
    assert counts.state(report, (), PublicationState(), ()).at_start(0, 5)[0] == CountsDue(after_batch=0)
    assert (counts.reached(5), counts.keeps_events, report.keeps_events) == (rules.NO_WATERMARK, True, True)
    assert not Report("all", TUMBLING, 0).keeps_events


def test_two_firings_are_published_as_one() -> None:
    windows = WindowsDue(closed=frozenset({50}), closed_until=60).merge(WindowsDue(closed=frozenset({100})))
    assert (set(windows.closed), windows.closed_until) == ({50, 100}, 60)
    sessions = SessionsDue(after=0, until=5).merge(SessionsDue(after=5, until=9))
    assert (sessions.after, sessions.until) == (0, 9)
    assert CountsDue(after_batch=7).merge(CountsDue(after_batch=9)) == CountsDue(after_batch=7)


def test_a_report_keeps_no_sketch_of_a_key_and_sums_what_adds_up() -> None:
    measures = ("page_views", "unique_users")
    by_page, by_user = (Report("all", TUMBLING, 0, (key,), "", measures) for key in ("page_url", "user_id"))
    assert [part.fold for part in by_page.parts if part.join == "sketch"] == ["user_id"]
    assert [part.fold for part in by_user.parts if part.join == "sketch"] == []
    assert by_page.sums == ["page_views"]


def test_only_panes_of_sessions_and_of_count_windows_keep_the_times_of_their_events() -> None:
    timed = {kind: {*TIMES} <= {*Report("all", kind, 0).parts} for kind in (TUMBLING, Sessions(30), Counts(3))}
    assert timed == {TUMBLING: False, Sessions(30): True, Counts(3): True}


def ids_of(*events: tuple[int, int, int]) -> Ids:
    return Ids(*np.array(events, np.int64).reshape(-1, 3).T)


@pytest.mark.parametrize(("first", "lengths"), [(5, [5, 2]), (4, [4, 2]), (3, [5])])
def test_a_run_of_ids_is_merged_only_if_the_next_has_more_than_half_its_length(first: int, lengths: list[int]) -> None:
    remembered = RememberedIds.of(ids_of(*((n, n, 9) for n in range(first)))).after(ids_of((7, 7, 9), (8, 8, 9)), 0)
    assert [len(run) for run in remembered.runs] == lengths


def test_an_id_is_remembered_up_to_its_last_millisecond_and_no_ids_are_a_start() -> None:
    remembered = RememberedIds.of(ids_of((1, 1, 10)))
    assert len(remembered.after(ids_of((2, 2, 10)), 10)) == 2
    assert [*map(bool, (remembered.repeated(ids_of((1, 1, 10)), np.array([0]), since)[0] for since in (10, 11)))] == [
        True, False
    ]  # fmt: skip
    assert len(RememberedIds.of(ids_of()).after(ids_of((1, 1, 1)), 0)) == 1


@pytest.mark.parametrize(("since", "is_repeated"), [(10, True), (11, False)])
def test_an_id_is_recognised_up_to_its_last_millisecond(since: int, *, is_repeated: bool) -> None:
    remembered = RememberedIds.of(ids_of((1, 1, 10)))
    assert remembered.repeated(ids_of((1, 1, 10)), np.array([0]), since).tolist() == [is_repeated]


def test_only_the_first_grouping_counts_records_and_malformed_records_are_counted_by_check() -> None:
    rows = [
        Statistic(0, 1, Check.PASSED, 50, 0, 3, 60, 10),
        Statistic(0, 1, Check.AVRO, None, 0, 2, None, 10),
        Statistic(1, 1, Check.PASSED, 50, 0, 3, 60, 10),
    ]
    tallies = Tallies.of_rows(rows)
    assert (tallies.total(), tallies.total([Verdict.COUNTED]), tallies.bytes) == (5, 3, 30)
    assert (tallies.malformed, tallies.of_partition(1).partly_late) == ({Check.AVRO: 2}, 0)


def batch(before: Frontier, after: Frontier) -> Batch:
    tallies = Tallies.of_rows([Statistic(0, 0, Check.PASSED, 50, 0, 3, 60, 10)])
    return Batch(2 * 10**9 + 7, "t", before, after, tallies, {}, 0, POLICY, lost={0: 1})


def test_a_batch_is_empty_if_neither_offsets_nor_the_watermark_moved() -> None:
    start, read = ({0: PartitionState(position, 0)} for position in (10, 16))
    assert batch(Frontier(start, 5), Frontier(start, 5)).is_empty
    assert not batch(Frontier(start, 5), Frontier(start, 6)).is_empty
    assert not batch(Frontier(start, 5), Frontier(read, 5)).is_empty


def test_a_row_of_the_ledger_has_the_epoch_and_the_offsets_without_a_record() -> None:
    start, read = ({0: PartitionState(position, 0)} for position in (10, 16))
    [row] = batch(Frontier(start), Frontier(read)).ledger_rows(0)
    assert (row.epoch, row.from_offset, row.to_offset, row.records, row.lost, row.gap) == (2, 10, 16, 3, 1, 2)


@pytest.mark.parametrize(("check", "is_idle"), [(Check.AVRO, True), (Check.OTHER_KIND, True), (Check.FUTURE, False)])
def test_only_events_keep_a_partition_from_being_idle(check: Check, is_idle: bool) -> None:
    state = PartitionState(10, 0, max_event_time=1)
    progress = Progress("t", POLICY, 0, Frontier({0: state}), {}, MalformedShare(MalformedLimit(1, 1)))
    _, after = progress.after([Statistic(0, 0, check, None, 0, 6, None, 0)], {0: 16}, {0: 16}, POLICY.idle_timeout_ms)
    assert after.frontier.partitions[0].idle is is_idle


def test_added_partitions_start_at_offset_0_and_known_partitions_stay() -> None:
    known = PartitionState(10, 1)
    progress = Progress("t", POLICY, 0, Frontier({0: known}), {}, MalformedShare(MalformedLimit(1, 1)))
    assert progress.with_partitions([0, 1], 7).frontier.partitions == {0: known, 1: PartitionState(0, 7)}
