"""The pure parts of `make nightly`: shares of the time, the reading of logs, verdicts and the report."""

import re
from pathlib import Path

import pytest

from tests.nightly.parts import PARTS, Part, Source, chosen, share_minutes
from tests.nightly.report import Night, report
from tests.nightly.results import Found, Result, found_by
from tests.support.evidence import ROOT, Run
from tests.support.summary import FILE, Summary

FINDS_TESTS = Part("tests", ("pytest",), "tests", 1, source=Source.PYTEST, again="pytest '{name}'")
SUMS_UP = Part("chaos", ("chaos",), "cells", 1)
LOG = """\
[gw0] [ 25%] PASSED tests/a.py::test_one
[gw1] [ 50%] FAILED tests/a.py::test_two[a b]
[gw1] [ 75%] SKIPPED tests/a.py::test_three
"""
CLOSED = """\
FAILED tests/a.py::test_two[a b] - assert 1 == 2
ERROR tests/b.py - ImportError: no module
==== 1 failed, 1 passed, 1 skipped, 1 error in 2.10s (0:00:02) ====
======= 7 passed, 2 warnings in 1.00s ========
"""


def result(found: Found, code: int | None = 0, part: Part = SUMS_UP) -> Result:
    return Result(part, ("run", "a b"), code, 90, found)


def test_the_shares_of_parts_with_a_budget_fill_the_time_and_unused_time_goes_to_those_after() -> None:
    parts = [part for part in PARTS if part.budget]
    left = minutes = sum(part.weight for part in parts)
    for number, part in enumerate(parts):
        share = share_minutes(part, parts[number + 1 :], left)
        assert share == pytest.approx(part.weight)
        left -= share
    assert left == pytest.approx(0)
    assert share_minutes(parts[-2], parts[-1:], 2 * minutes) > parts[-2].weight


def test_a_part_that_ends_by_itself_leaves_time_for_the_others_whatever_it_takes() -> None:
    left, in_turn = 480.0, [part for part in PARTS if not part.is_beside]
    for number, part in enumerate(in_turn):
        left -= share_minutes(part, in_turn[number + 1 :], left)
        assert left > 0 or part is in_turn[-1]


def test_parts_that_take_a_budget_are_last_because_they_use_the_time_that_others_leave() -> None:
    assert [bool(part.budget) for part in PARTS] == sorted(bool(part.budget) for part in PARTS)
    budgeted = ["mutants", "plans", "seeds", "switches", "lives", "soak", "chaos"]
    assert [part.name for part in PARTS if part.budget] == budgeted
    for part in PARTS:
        assert part.arguments(50)[len(part.command) :] == tuple(word.format(minutes=40) for word in part.budget)


def test_what_ran_when_a_part_was_cut_off_did_not_fail() -> None:
    ended = "[gw0] node down: keyboard-interrupt\n[gw0] [ 80%] FAILED tests/a.py::test_four\n"
    assert found_by(FINDS_TESTS, LOG + ended, None, 7) == found_by(FINDS_TESTS, LOG, None, 7)


def test_every_part_has_a_name_of_its_own_and_a_command_that_exists() -> None:
    assert len({part.name for part in PARTS}) == len(PARTS)
    for part in PARTS:
        words = " ".join(part.command)
        for module in re.findall(r"-m (tests\.\S+)", words):
            path = ROOT / module.replace(".", "/")
            assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), part
        assert (part.source is Source.PYTEST) <= bool(part.again)


def test_some_parts_are_chosen_in_the_order_of_all_and_unknown_names_are_refused() -> None:
    assert [part.name for part in chosen("soak,tests")] == ["tests", "soak"]
    assert chosen("") == list(PARTS)
    with pytest.raises(ValueError, match="unknown parts: dinner; the parts are hour, pythons, "):
        chosen("soak,dinner")


def test_a_log_of_pytest_that_was_cut_off_has_its_counts_and_failures() -> None:
    name = "tests/a.py::test_two[a b]"
    found = found_by(FINDS_TESTS, LOG, None, seed=7)
    assert found == Found(2, 1, failures={name: f"TESTS_SEED=7 pytest '{name}'"})


def test_the_coverage_of_a_part_that_measures_it_is_in_its_row() -> None:
    found = found_by(FINDS_TESTS, LOG + "TOTAL        21122  10587   3594    125    45%\n", None, seed=7)
    assert found.covered_percent == 45
    night = Night(Run("2026-01-02", "abc1234"), "a machine", 7, 8, (FINDS_TESTS,))
    assert "| 2 tests, 1 skipped, 45 % covered |" in report(night, [result(found, part=FINDS_TESTS)])


def test_closing_lines_of_pytest_count_where_it_names_no_test_that_passed() -> None:
    found = found_by(FINDS_TESTS, CLOSED, None, seed=7)
    assert (found.count, found.skipped) == (10, 1)
    assert list(found.failures) == ["tests/a.py::test_two[a b]", "tests/b.py"]
    both = found_by(FINDS_TESTS, LOG + CLOSED, None, seed=7)
    assert (both.count, both.skipped, list(both.failures)) == (2, 1, list(found.failures))


def test_a_summary_is_the_last_one_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    assert Summary.read(path) is None
    summary = Summary()
    for count in (1, 2):
        summary.count, summary.failures["a"] = count, "again"
        summary.write({FILE: str(path)})
    assert found_by(SUMS_UP, LOG, Summary.read(path), seed=7) == Found(2, failures={"a": "again"})
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    summary.write({})


def test_only_a_part_that_ended_well_and_ran_something_has_passed() -> None:
    failure = {"a": "make a"}
    assert result(Found(3)).verdict == "passed"
    assert result(Found(3), code=None).verdict == "cut off after 2 min"
    assert result(Found(3, failures=failure), code=None).verdict == "**failed**, cut off after 2 min"
    assert result(Found(3, failures=failure)).verdict == "**failed**"
    assert result(Found(3), code=2).failures == {"exit code 2": "run 'a b'"}
    for nothing in (Found(), Found(0), Found(None, skipped=4)):
        assert result(nothing).failures == {"nothing ran": "run 'a b'"}
        assert result(nothing, code=None).verdict == "cut off after 2 min"


def test_the_report_lists_every_part_and_each_failure_with_the_command_that_repeats_it() -> None:
    night = Night(Run("2026-01-02", "abc1234"), "a machine", 7, 8, (SUMS_UP, FINDS_TESTS))
    text = report(night, [result(Found(1234, 2, failures={"in-commit.lie": "make chaos ARGS=..."}))])
    assert "commit abc1234 (2026-01-02), `TESTS_SEED=7`, on a machine." in text
    assert "0 of 2 parts passed, in 2 min of 8 h." in text
    assert "| chaos | **failed** | 1,234 cells, 2 skipped | 2 min | `run a b` |" in text
    assert "| tests | did not run |" in text
    assert "## chaos: 1 failed" in text
    assert "- in-commit.lie\n  `make chaos ARGS=...`" in text
