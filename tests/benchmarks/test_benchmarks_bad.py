"""The drains of good and bad records are compared."""

from benchmarks.bad import GOOD, figures, render
from benchmarks.bad_topics import FRAMED, NOISE
from benchmarks.task import Drain


def rounds(*seconds: float) -> list[list[Drain]]:
    """Makes rounds of a cold drain and a drain of each of `seconds`."""
    return [[Drain(99.0, 1.0, 5), Drain(one, 2.0, 5)] for one in seconds]


def test_bad_records_are_compared_with_good_ones_by_the_median_of_the_last_drains() -> None:
    found = figures({GOOD: rounds(1.0, 2.0, 9.0), NOISE: rounds(4.0), FRAMED: rounds(8.0)}, 1_000)
    assert {kind: row["of_base"] for kind, row in found.items()} == {GOOD: 1.0, NOISE: 0.5, FRAMED: 0.25}
    assert found[NOISE]["rate"] == 250
    assert found[NOISE]["cpu_us_per_record"] == 2_000
    assert render(found, 1_000).row_count == 3
