"""Sessions by columns equal those of a loop that takes one event after the other."""

from dataclasses import dataclass

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from tidemark.pipeline.results.partial_sessions import PartialSessions

GAP, LATENESS = 5, 3


@dataclass(frozen=True)
class Arrived:
    """An event of a user, and the watermark before its batch."""

    user: str
    time: int
    watermark: int


@st.composite
def streams(draw: st.DrawFn) -> list[Arrived]:
    """Batches of events; those that are too late are left out, and after each batch the watermark may move."""
    came, watermark = list[Arrived](), 0
    for _ in range(draw(st.integers(1, 8))):
        earliest = max(0, watermark - GAP - LATENESS + 1)
        times = draw(st.lists(st.integers(earliest, earliest + 30), min_size=1, max_size=5))
        came += [Arrived(draw(st.sampled_from("ab")), time, watermark) for time in times]
        watermark = draw(st.integers(watermark, max(watermark, *times)))
    return came


def sessions_of(rows: pa.Table) -> set[tuple[str, int, int, int]]:
    return {(row["user_id"], row["first_time"], row["last_time"], row["page_views"]) for row in rows.to_pylist()}


def one_after_the_other(came: list[Arrived]) -> set[tuple[str, int, int, int]]:
    """Returns user, first and last time and count of events of each session; closed sessions are not joined."""
    live, closed = list[tuple[str, int, int, int]](), list[tuple[str, int, int, int]]()
    for event in came:
        closed += [one for one in live if event.watermark >= one[2] + GAP + LATENESS]
        live = [one for one in live if one not in closed]
        meets = [one for one in live if one[0] == event.user and one[1] - GAP <= event.time <= one[2] + GAP]
        first, last = min([event.time, *(one[1] for one in meets)]), max([event.time, *(one[2] for one in meets)])
        live = [one for one in live if one not in meets] + [(event.user, first, last, sum(one[3] for one in meets) + 1)]
    return {*live, *closed}


def as_parts(came: list[Arrived]) -> pa.Table:
    """Returns a part for each event, in no order."""
    times, ones = [one.time for one in came], pa.array([1] * len(came), pa.int64())
    counts = dict.fromkeys(("page_views", "clicks", "late_events", "batch", "watermark"), ones)
    closed = {"closed_until": pa.array([one.watermark - LATENESS for one in came], pa.int64())}
    first_and_last = {name: pa.array(times, pa.int64()) for name in ("first_time", "last_time")}
    users = pa.array([one.user for one in came], pa.string())
    return pa.table({"user_id": users, **first_and_last, **counts, **closed})


def joined(parts: pa.Table) -> pa.Table:
    rows = parts.sort_by([(name, "ascending") for name in ("user_id", "first_time", "last_time")])
    return PartialSessions(rows, ["user_id"], GAP, rows["closed_until"].to_numpy()).joined()


@given(streams())
@example([Arrived("a", 0, 0), Arrived("a", 9, 0), Arrived("a", 4, 8), Arrived("b", 4, 8)])
def test_parts_that_are_merged_after_each_event_are_joined_like_all_at_once(came: list[Arrived]) -> None:
    merged = as_parts([])
    for event in came:
        merged = joined(pa.concat_tables([merged, as_parts([event])]))
    assert sessions_of(merged) == one_after_the_other(came)


@given(streams())
def test_a_session_is_joined_as_long_as_it_is_not_closed(came: list[Arrived]) -> None:
    assert sessions_of(joined(as_parts(came))) == one_after_the_other(came)


def test_a_key_that_events_do_not_have_is_a_key_of_its_own() -> None:
    keys, times = ["a", "a", None, None], [1, 2, 1, 2]
    counts = dict.fromkeys(("page_views", "clicks", "late_events", "batch", "watermark"), [1] * 4)
    rows = pa.table({"page_url": keys, "first_time": times, "last_time": times, **counts})
    found = PartialSessions(rows, ["page_url"], GAP).joined().to_pylist()
    assert [(row["page_url"], row["page_views"]) for row in found] == [("a", 2), (None, 2)]
