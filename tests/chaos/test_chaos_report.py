"""The matrix as a page: what failed is seen, how long the rest took, and of which code each column is."""

from dataclasses import replace
from itertools import product

from tests.chaos.faults import FAULTS, Fault
from tests.chaos.play import Outcome, Play, Strike
from tests.chaos.points import POINTS, Point
from tests.chaos.report import PAGE, as_page, columns_of, kept_columns
from tests.support.evidence import Run, without_notice


def test_the_page_shows_every_cell_and_the_recovery_of_every_fault() -> None:
    outcomes = [outcome_of(number, point, fault) for number, (point, fault) in enumerate(product(POINTS, FAULTS))]
    outcomes[0].error, outcomes[0].recoveries_s = "it did not end well", []
    columns = dict(columns_of(outcomes, Run("2026-01-02", "abc1234")))
    columns["lie"] = replace(columns["lie"], commit="def1234")
    page = as_page(columns)
    assert f"{len(outcomes) - 1} of {len(outcomes)} cells are well." in page
    assert "- commit def1234 (2026-01-02), with a minute of 60 s: lie\n" in page
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("| ")}
    assert rows[POINTS[0].name].count("**failed**") == 1
    assert rows[POINTS[1].name].count("well") == len(FAULTS)
    first = [float(number) for number in range(len(FAULTS), len(outcomes), len(FAULTS))]
    assert rows[FAULTS[0].name] == f"| {FAULTS[0].name} | {first[len(first) // 2]:.1f} s | {first[-1]:.1f} s |"
    assert all(one.says in page for one in (*POINTS, *FAULTS))


def test_the_page_in_the_documentation_is_of_the_columns_that_are_kept() -> None:
    assert without_notice(PAGE.read_text()) == as_page(kept_columns())


def outcome_of(number: int, point: Point, fault: Fault) -> Outcome:
    strike = Strike(point, fault)
    return Outcome(Play((strike,), minute=60, seed=1), recoveries_s=[float(number)], lives=2)
