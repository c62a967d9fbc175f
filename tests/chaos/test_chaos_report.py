"""The matrix in docs/evidence.md: what failed is seen, how long the rest took, and of which code each column is."""

from dataclasses import replace
from itertools import product
from statistics import median

from tests.chaos.faults import FAULTS, Fault
from tests.chaos.play import Outcome, Play, Strike
from tests.chaos.points import POINTS, Point
from tests.chaos.report import HEADING, as_section, columns_of, kept_columns
from tests.support.evidence import EVIDENCE, Run, section


def test_the_section_shows_each_failed_cell_and_the_recovery_of_every_fault() -> None:
    outcomes = [outcome_of(number, point, fault) for number, (point, fault) in enumerate(product(POINTS, FAULTS))]
    outcomes[1].error, outcomes[1].recoveries_s = "it did not end well", []
    columns = dict(columns_of(outcomes, Run("2026-01-02", "abc1234")))
    columns["lie"] = replace(columns["lie"], commit="def1234")
    text = as_section(columns)
    assert f"**{len(outcomes) - 1} of {len(outcomes)} cells are well.**" in text
    assert "- commit def1234 (2026-01-02), with a minute of 60 s: `lie`\n" in text
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| `")}
    assert all(f"| {each.says} |" in rows[f"`{each.name}`"] for each in (*POINTS, *FAULTS))
    seconds = [float(number) for number in range(0, len(outcomes), len(FAULTS))]
    well = f"{len(POINTS)} of {len(POINTS)} | {median(seconds):.1f} s | {seconds[-1]:.1f} s |"
    assert rows[f"`{FAULTS[0].name}`"].endswith(f"| {well}")
    assert f"| {len(POINTS) - 1} of {len(POINTS)}; **failed**: {POINTS[0].name} |" in rows[f"`{FAULTS[1].name}`"]
    assert text.count("**failed**") == 1


def test_the_section_in_the_documentation_is_of_the_columns_that_are_kept() -> None:
    assert section(EVIDENCE.read_text(), HEADING) == as_section(kept_columns())


def outcome_of(number: int, point: Point, fault: Fault) -> Outcome:
    strike = Strike(point, fault)
    return Outcome(Play((strike,), minute=60, seed=1), recoveries_s=[float(number)], lives=2)
