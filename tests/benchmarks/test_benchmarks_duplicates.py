"""Drains with and without duplicates being looked for are compared, and look-ups among more and more ids."""

import pytest

from benchmarks.duplicates import figures, look_ups, look_ups_table, render
from benchmarks.task import Drain


def drains(seconds: float, cpu_seconds: float, python: int, **tables: int) -> list[Drain]:
    """Makes a cold drain, and a drain with these seconds and bytes."""
    notes = {"table_bytes": tables, "peak_bytes": {"python": python, "java": 7}}
    return [Drain(99.0, 1.0, 5, notes), Drain(seconds, cpu_seconds, 5, notes)]


def test_on_is_compared_with_off_and_the_bytes_of_the_table_are_by_event() -> None:
    rounds = {"off": [drains(2.0, 4.0, 50_000_000)], "event_id": [drains(4.0, 6.0, 90_000_000, event_ids=24_000)]}
    found = figures(rounds, 1_000)
    assert [row["of_base"] for row in found.values()] == [1.0, 0.5]
    cells = [list(column.cells) for column in render(found, 1_000).columns]
    assert [column[1] for column in cells[2:]] == ["0.50", "6000.00", "1.50", "90", "24.0"]


@pytest.mark.slow
def test_an_id_takes_the_same_memory_among_few_and_many() -> None:
    found = look_ups([1_000, 100_000])
    assert {row["bytes_per_id"] for row in found.values()} == {24}
    assert all(row["look_up_ms"] > 0 and row["taking_ms"] > 0 for row in found.values())
    assert look_ups_table(found).row_count == 2
