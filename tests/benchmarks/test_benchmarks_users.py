"""The drains of few and many users are compared."""

from benchmarks.data import Crowd
from benchmarks.task import Drain
from benchmarks.users import crowds, figures, render

BYTES = {"panes": 10_000, "dead_letters": 2_000, "ledger": 1_000, "page_views": 4_000, "page_traffic": 3_000}


def drains(seconds: float, python: int) -> list[Drain]:
    """Makes a cold drain, and a drain with these seconds and bytes."""
    peak = {"python": python, "java": 7}
    notes = {"table_bytes": BYTES, "peak_bytes": peak, "reopening_seconds": seconds, "amplification": 2.5}
    return [Drain(99.0, 1.0, 5, notes), Drain(seconds, 2.0, 5, notes)]


def test_the_median_of_the_rounds_counts_and_the_most_memory() -> None:
    found = figures(
        {Crowd(10): [drains(1.0, 5), drains(2.0, 9), drains(9.0, 6)], Crowd(1_000): [drains(4.0, 5)]}, 1_000
    )
    assert {users: row["rate"] for users, row in found.items()} == {"10": 500, "1,000": 250}
    assert found["10"]["python_bytes"] == 9
    assert found["10"]["cpu_us_per_event"] == 2_000
    table = render(found, 1_000, "events", "users")
    assert table.row_count == 2
    assert [next(iter(column.cells)) for column in table.columns][-5:] == ["10.0", "2.0", "1.0", "7.0", "2.50"]


def test_each_crowd_has_a_topic_and_a_name_of_its_own() -> None:
    among = crowds([10, 1_000], 1_000)
    assert [str(crowd) for crowd in among] == ["10", "1,000", "1,000, Zipf 1", "1,000, one with 10%"]
    assert len({crowd.of_topic for crowd in among}) == len(among)
