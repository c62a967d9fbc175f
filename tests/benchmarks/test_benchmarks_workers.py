"""The drains of one worker and of two are compared."""

from benchmarks.task import Drain
from benchmarks.workers import figures, render


def rounds(*seconds: float, cpu_seconds: float) -> list[list[Drain]]:
    """Makes rounds of a cold drain and a drain of each of `seconds`."""
    return [[Drain(99.0, 1.0, 5), Drain(one, cpu_seconds, 5)] for one in seconds]


def test_two_workers_are_compared_with_one_by_the_median_of_the_last_drains() -> None:
    found = figures({1: rounds(4.0, 3.0, 9.0, cpu_seconds=4), 2: rounds(2.0, 2.5, 9.0, cpu_seconds=5)}, 1_000)
    assert {workers: (row["rate"], row["of_base"]) for workers, row in found.items()} == {1: (250, 1.0), 2: (400, 1.6)}
    assert [row["cpu_us_per_record"] for row in found.values()] == [4_000, 5_000]
    assert [list(column.cells)[1] for column in render(found, 1_000).columns][2:4] == ["1.60", "5000.00"]
