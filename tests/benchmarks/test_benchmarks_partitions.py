"""Batches of few and of many partitions are compared."""

from benchmarks.partitions import figures, render
from benchmarks.task import Drain


def drain(*seconds: float) -> list[Drain]:
    """Makes a drain with batches of these seconds."""
    return [Drain(9.0, 2.0, 5, {"seconds_per_batch": list(seconds), "table_bytes": {"ledger": 4_000}})]


def test_the_warm_half_of_all_rounds_counts() -> None:
    found = figures({4: [drain(9, 9, 1, 2), drain(9, 9, 3, 3)], 512: [drain(9, 9, 5, 5)]}, 1_000)
    assert {count: row["seconds"] for count, row in found.items()} == {4: 2.5, 512: 5}
    assert found[4]["ledger_bytes_per_batch"] == 1_000
    assert found[4]["cpu_us_per_event"] == 2_000
    assert render(found, 1_000).row_count == 2
