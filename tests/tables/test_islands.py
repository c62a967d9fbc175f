"""Sessions by columns equal those of a loop that takes one event after the other."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pipeline.results.islands import Islands

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


@given(streams())
def test_an_island_is_joined_as_long_as_it_is_not_closed(came: list[Arrived]) -> None:
    came_in_order = sorted(came, key=lambda one: (one.user, one.time))
    times, ones = [one.time for one in came_in_order], [1] * len(came)
    counts = dict.fromkeys(("page_views", "clicks", "late_events", "batch", "watermark"), ones)
    rows = pa.table({"user_id": [one.user for one in came_in_order], "first_time": times, "last_time": times, **counts})
    closed = np.array([one.watermark - LATENESS for one in came_in_order])
    found = Islands(rows, ["user_id"], GAP, closed).joined().to_pylist()
    told = {(row["user_id"], row["first_time"], row["last_time"], row["page_views"]) for row in found}
    assert told == one_after_the_other(came)


def test_a_key_that_events_do_not_have_is_a_key_of_its_own() -> None:
    keys, times = ["a", "a", None, None], [1, 2, 1, 2]
    counts = dict.fromkeys(("page_views", "clicks", "late_events", "batch", "watermark"), [1] * 4)
    rows = pa.table({"page_url": keys, "first_time": times, "last_time": times, **counts})
    found = Islands(rows, ["page_url"], GAP).joined().to_pylist()
    assert [(row["page_url"], row["page_views"]) for row in found] == [("a", 2), (None, 2)]
