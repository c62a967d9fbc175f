"""Windows of many panes are listed with the panes that have rows, in as few statements."""

from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.results.due import WindowsToPublish

SECOND = 1000
HOUR = 3600 * SECOND
GRID = Grid(HOUR, 7 * SECOND)
"""An event belongs to 514 windows of 3,600 panes each."""


def due(ends: range) -> WindowsToPublish:
    return WindowsToPublish(Report("a", GRID, 0), GRID, ends, dict.fromkeys(ends, 1), batch=1, most_panes=4096)


def test_many_windows_with_two_events_are_one_statement() -> None:
    ends = range(GRID.latest_end(HOUR) - 513 * 7 * SECOND, GRID.latest_end(HOUR) + 1, 7 * SECOND)
    every = due(ends)
    assert len([*every.pieces()]) == len(ends)
    some = every.with_panes(lambda _: [HOUR - 5 * SECOND, HOUR])
    (piece,) = some.pieces()
    assert [*piece.ends] == [*ends]
    listed = [(pane, end) for end in ends for pane in some._panes_of(end)]
    for end in ends:
        having = [pane for pane in (HOUR - 5 * SECOND, HOUR) if GRID.begin(end) <= pane < end]
        assert [pane for pane, of in listed if of == end] == (having or [GRID.begin(end)])


def test_panes_are_looked_up_only_if_all_of_them_are_too_many() -> None:
    def refused(_: str) -> list[int]:
        raise AssertionError

    one = due(range(HOUR, HOUR + 1))
    assert one.with_panes(refused) is one
