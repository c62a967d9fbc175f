"""Windows and their panes, against the definition: starts at offset + k * slide, half-open."""

from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.pipeline.event_time.windows.grid import Grid

grids = st.integers(1, 40).flatmap(
    lambda size: st.builds(Grid, size_ms=st.just(size), slide_ms=st.integers(1, size), offset_ms=st.integers(0, 100))
)
times = st.integers(1, 500)


def windows(grid: Grid, time: int) -> set[int]:
    """Returns the ends of the windows that a time belongs to, by trying each candidate."""
    starts = range(grid.offset_ms - 1000 * grid.slide_ms, 1000 + grid.slide_ms, grid.slide_ms)
    return {start + grid.size_ms for start in starts if start <= time < start + grid.size_ms}


@given(grids, times)
def test_a_pane_belongs_to_the_windows_that_each_of_its_times_belongs_to(grid: Grid, time: int) -> None:
    pane = grid.pane_start(time)
    assert pane <= time < pane + grid.pane_ms
    assert set(grid.ends(pane)) == windows(grid, time)


@given(grids, times)
def test_a_window_is_made_of_exactly_the_panes_that_belong_to_it(grid: Grid, time: int) -> None:
    for end in grid.ends(grid.pane_start(time)):
        panes = range(grid.begin(end), end, grid.pane_ms)
        assert len(panes) * grid.pane_ms == grid.size_ms
        assert all(end in grid.ends(pane) for pane in panes)
        assert grid.pane_start(time) in panes


@pytest.mark.parametrize(("size", "slide", "pane"), [(60, 60, 60), (60, 10, 10), (60, 25, 5), (7, 3, 1)])
def test_a_pane_is_the_greatest_common_divisor(size: int, slide: int, pane: int) -> None:
    assert Grid(size, slide).pane_ms == gcd(size, slide) == pane
