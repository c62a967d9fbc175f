"""Whole columns of the matrix of faults within a budget: those that were played longest ago."""

from tests.chaos.budget import affordable, expected_s
from tests.chaos.faults import FAULTS
from tests.chaos.points import POINTS
from tests.chaos.report import Column

DAYS = {fault.name: f"2026-01-{20 - number:02}" for number, fault in enumerate(FAULTS)}
COLUMNS = {name: Column(name, "abc1234", day, 60, {point.name: 30.0 for point in POINTS}) for name, day in DAYS.items()}
COLUMN_MINUTES = expected_s(COLUMNS["kill"]) / 60


def chosen(minutes: float, jobs: int = 2) -> list[str]:
    return [fault.name for fault in affordable(FAULTS, COLUMNS, minutes, jobs)]


def test_the_columns_that_were_played_longest_ago_come_first_and_each_ends_in_time() -> None:
    oldest = [fault.name for fault in reversed(FAULTS)]
    assert chosen(2 * COLUMN_MINUTES) == oldest[:4]
    assert chosen(3.5 * COLUMN_MINUTES, jobs=1) == oldest[:3]
    assert chosen(1000) == oldest


def test_a_fault_without_a_column_comes_first_and_is_played_whatever_the_budget() -> None:
    columns = {name: column for name, column in COLUMNS.items() if name != "lie"}
    assert [fault.name for fault in affordable(FAULTS, columns, 0, 2)] == ["lie"]


def test_a_column_of_long_recoveries_leaves_its_place_to_shorter_columns() -> None:
    long = Column("second-service", "abc1234", "2026-01-01", 60, {point.name: 600.0 for point in POINTS})
    faults = affordable(FAULTS, {**COLUMNS, "second-service": long}, expected_s(long) / 60, 1)
    assert [fault.name for fault in faults] == ["second-service"]
    newer = Column("second-service", "abc1234", "2026-01-30", 60, long.recovery_s)
    assert "second-service" not in [
        fault.name for fault in affordable(FAULTS, {**COLUMNS, "second-service": newer}, 60, 1)
    ]
