"""Windows that grow, against the definition: [k * size, k * size + step), [k * size, k * size + 2 * step), ..."""

from hypothesis import given
from hypothesis import strategies as st

from tidemark.pipeline.event_time.windows.aligned import Aligned
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid

growing = st.builds(
    lambda step, steps, offset: Cumulate(step * steps, step, offset),
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(0, 100),
)
times = st.integers(1, 500)


def lengths(windows: Cumulate) -> range:
    return range(windows.step_ms, windows.size_ms + 1, windows.step_ms)


def every(windows: Cumulate) -> list[tuple[int, int]]:
    """Returns start and end of all windows that any of the times could belong to, by trying each candidate."""
    starts = range(windows.offset_ms - 1000 * windows.size_ms, 1000, windows.size_ms)
    return [(start, start + length) for start in starts for length in lengths(windows)]


@given(growing, times)
def test_a_time_belongs_to_the_windows_that_have_grown_over_it(windows: Cumulate, time: int) -> None:
    mine = {(start, end) for start, end in every(windows) if start <= time < end}
    assert set(windows.of(time)) == mine
    assert windows.latest_end(time) == max(end for _, end in mine)


@given(growing, times)
def test_they_are_the_tumbling_windows_of_their_size_and_the_shorter_ones_of_the_same_begin(
    windows: Cumulate, time: int
) -> None:
    contained = [Grid(length, windows.size_ms, windows.offset_ms) for length in lengths(windows)]
    assert set(windows.of(time)) == {window for grid in contained for window in grid.of(time)}
    assert [*contained[-1].of(time)] == [next(windows.of(time))]


@given(st.integers(1, 40), st.integers(0, 100), times)
def test_those_that_grow_in_one_step_tumble(size: int, offset: int, time: int) -> None:
    assert answers(Cumulate(size, size, offset), time) == answers(Grid(size, size, offset), time)


def answers(windows: Aligned, time: int) -> list[object]:
    asked = (windows.latest_end, windows.earliest_after, windows.whole_after, windows.reached)
    return [windows.pane_ms, windows.shift_ms, windows.has_overlap, [*windows.of(time)], *(one(time) for one in asked)]


@given(growing, times)
def test_a_window_is_made_of_exactly_the_panes_that_belong_to_it(windows: Cumulate, time: int) -> None:
    pane = windows.pane_start(time)
    assert pane <= time < pane + windows.pane_ms
    for start, end in windows.of(time):
        assert windows.begin(end) == start
        panes = range(start, end, windows.pane_ms)
        assert pane in panes
        assert all(end in windows.ends(one) for one in panes)


@given(growing, times)
def test_what_is_closed_at_a_time_divides_events_by_theirs(windows: Cumulate, horizon: int) -> None:
    some, whole = windows.earliest_after(horizon), windows.whole_after(horizon)
    assert windows.reached(horizon) == max(end for _, end in every(windows) if end <= horizon)
    for time in range(horizon - 2 * windows.size_ms, horizon + 2 * windows.size_ms):
        ends = [end for _, end in windows.of(time)]
        assert (time >= some) == any(end > horizon for end in ends)
        assert (time >= whole) == all(end > horizon for end in ends)
