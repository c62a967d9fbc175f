"""The watermark on the page: the state of each partition and its reason, in words and as a picture."""

from dataclasses import replace

import pytest

from tidemark.pipeline.event_time.policy import AllIdle, Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded, TimeLag
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.reading.ledger_summary import Account, LedgerSummary, PartitionStatus
from tidemark.pipeline.web.pages.watermark_lanes import LaneState, explain, lanes_of
from tidemark.pipeline.web.pages.watermark_picture import Picture, picture_of

NOW = 1_714_564_800_000
SECOND = 1000
REPORT = Report("page_views", Grid(10 * SECOND, 10 * SECOND), 5 * SECOND)
POLICY = Policy(Bounded(3 * SECOND), idle_timeout_ms=20 * SECOND, max_future_skew_ms=0, reports=(REPORT,))


def summary(
    *heads: float | None, silent: tuple[float, ...] = (), watermark: float | None, policy: Policy = POLICY
) -> LedgerSummary:
    """Partitions by the seconds that their newest event is old, and for how many seconds each has been silent."""
    quiet = (*silent, *[0.0] * (len(heads) - len(silent)))
    return LedgerSummary(
        table_id="",
        batch=10**9 + 7,
        topic="t",
        committed_at=NOW,
        watermark=None if watermark is None else _ago(watermark),
        opened_at=NOW - 3600 * SECOND,
        policy=policy,
        partitions=tuple(
            PartitionStatus(number, 0, None if head is None else _ago(head), _ago(quiet[number]))
            for number, head in enumerate(heads)
        ),
        accounts={},
        last_event_at={},
        records_per_second=None,
    )


def _ago(seconds: float) -> int:
    return NOW - round(seconds * SECOND)


def doings(found: LedgerSummary) -> list[LaneState]:
    return [lane.state for lane in lanes_of(found)]


def said(found: LedgerSummary) -> str:
    return " ".join(explain(found, lanes_of(found)))


def test_the_partition_with_the_oldest_head_holds_the_watermark_back() -> None:
    found = summary(1, 2, 16, watermark=19)
    assert doings(found) == [LaneState.AHEAD, LaneState.AHEAD, LaneState.HOLDS]
    assert "Partition 2 holds the watermark back: its newest event is 15 s older than that of partition 0." in said(
        found
    )
    assert "19 s behind the clock: the newest event of that partition was 16 s old, and the bound is 3 s" in said(found)


def test_an_idle_partition_is_left_out() -> None:
    found = summary(1, 60, watermark=4, silent=(0, 58))
    assert doings(found) == [LaneState.HOLDS, LaneState.IDLE]
    assert "Partition 1 is idle: no event for 58 s. After 20 s without events" in said(found)


def test_at_the_timeout_a_partition_is_idle_and_a_millisecond_before_it_is_not() -> None:
    assert doings(summary(1, 60, watermark=4, silent=(0, 20)))[1] is LaneState.IDLE
    assert doings(summary(1, 60, watermark=63, silent=(0, 19.999)))[1] is LaneState.HOLDS


def test_there_is_no_watermark_while_a_partition_has_no_event() -> None:
    found = summary(1, None, watermark=None)
    assert doings(found) == [LaneState.AHEAD, LaneState.EMPTY]
    assert "Partition 1 has no event yet and may still deliver old events" in said(found)


def test_before_the_first_event_nothing_fires() -> None:
    assert (
        said(summary(None, None, watermark=None))
        == "No event was read yet, so there is no watermark and no window fires."
    )


def test_a_partition_that_came_back_with_old_events_is_waited_for() -> None:
    found = summary(1, 100, watermark=4)
    assert doings(found) == [LaneState.AHEAD, LaneState.HOLDS]
    assert "Partition 1 resumed with events older than the watermark" in said(found)
    assert "newer by 99 s" in said(found)


@pytest.mark.parametrize(
    ("rule", "words"),
    [(AllIdle.HOLD, "the last windows wait for the next event"), (AllIdle.ADVANCE, "follows the clock")],
)
def test_the_sentence_for_all_idle_depends_on_the_rule(rule: AllIdle, words: str) -> None:
    found = summary(30, 40, watermark=33, silent=(30, 40), policy=replace(POLICY, all_idle=rule))
    assert doings(found) == [LaneState.IDLE, LaneState.IDLE]
    assert words in said(found)


def test_partitions_close_to_one_another_are_described_as_close() -> None:
    assert "within 0.4 s of one another" in said(summary(1, 1.4, watermark=4.4))


def test_the_clock_may_be_all_that_moves_it() -> None:
    found = summary(1, 90, watermark=5, silent=(0, 90), policy=replace(POLICY, strategy=TimeLag(5 * SECOND)))
    assert said(found) == "Only time moves the watermark, 5 s behind the clock."


def test_many_partitions_are_not_all_named() -> None:
    assert "Partitions 0, 1, 2, 3 and 6 more have no event yet" in said(summary(*[None] * 10, 1, watermark=None))


def drawn(found: LedgerSummary, now: int = NOW, report: Report = REPORT) -> Picture:
    picture = picture_of(found, lanes_of(found), report, now)
    assert picture is not None
    return picture


def test_times_are_in_order_on_the_axis_and_within_it() -> None:
    picture = drawn(summary(1, 2, 16, watermark=19))
    places = [picture.axis.at(_ago(seconds)) for seconds in (19, 16, 2, 1, 0)]
    assert places == sorted(places)
    assert 0 < places[0] < places[-1] <= 100


def test_windows_fire_at_the_watermark_and_close_after_the_allowed_lateness() -> None:
    found = summary(1, 2, 16, watermark=19)
    states = {(NOW - box.end) // SECOND: box.state for box in drawn(found).boxes}
    assert states == {20: "fired", 10: "open", 0: "open"}
    without_lateness = drawn(found, report=replace(REPORT, allowed_lateness_ms=0))
    assert [box.state for box in without_lateness.boxes] == ["closed", "open", "open"]
    assert without_lateness.next_end == _ago(10)


def test_a_window_that_ends_at_the_watermark_has_fired() -> None:
    picture = drawn(summary(17, watermark=20))
    assert {box.end: box.state for box in picture.boxes}[_ago(20)] == "fired"
    assert picture.next_end == _ago(10)


def test_a_clock_far_from_the_events_is_left_outside() -> None:
    year = 365 * 86400
    picture = drawn(summary(year, year + 5, watermark=year + 8))
    assert picture.clock_is_far
    assert picture.axis.right < NOW


def test_an_idle_partition_of_long_ago_does_not_stretch_the_axis() -> None:
    picture = drawn(summary(1, 86400, watermark=4, silent=(0, 86400)))
    assert picture.axis.right - picture.axis.left < 60 * SECOND
    assert picture.axis.at(_ago(86400)) == 0


def test_only_the_partitions_with_the_oldest_times_are_drawn() -> None:
    picture = drawn(summary(*map(float, range(1, 101)), watermark=103, policy=replace(POLICY, idle_timeout_ms=10**9)))
    assert [lane.partition for lane in picture.lanes] == list(range(88, 100))
    assert picture.hidden == 88


def test_there_are_a_few_round_ticks() -> None:
    for span in (16, 300, 86400, 40 * 86400):
        ticks = drawn(summary(1, span, watermark=span + 3, policy=replace(POLICY, idle_timeout_ms=10**12))).axis.ticks
        assert 1 <= len(ticks) <= 5
        assert all(tick.time % SECOND == 0 for tick in ticks)


def test_without_windows_of_time_or_an_event_there_is_less_to_draw() -> None:
    found = summary(1, watermark=4)
    assert drawn(found, report=replace(REPORT, windows=Sessions(SECOND))).boxes == ()
    empty = summary(None, watermark=None)
    assert picture_of(empty, lanes_of(empty), REPORT, NOW) is None


def test_an_account_balances_to_the_record() -> None:
    account = Account(offsets=12, records=10, counted=6, too_late=1, future=2, malformed=1, gap=1, lost=1)
    assert account.balances
    assert (account + account).balances
    assert not replace(account, counted=5).balances
    assert replace(account, counted=3, duplicate=2, erased=1).balances
    assert not replace(account, offsets=13).balances
