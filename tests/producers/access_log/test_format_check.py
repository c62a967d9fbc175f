"""A wrong --format is an error before the position moves, or a warning while the log is followed."""

from collections import Counter

import pytest

from producers.access_log.format_check import FormatCheck, MalformedLine
from producers.access_log.outcome import LineOutcome
from producers.errors import SetupError

VISIT, ASSET, MALFORMED = LineOutcome.VISIT, LineOutcome.ASSET, LineOutcome.MALFORMED
LINE = MalformedLine("a line", "no address")


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def check(warnings: list[str]) -> FormatCheck:
    return FormatCheck("combined", warnings.append)


def test_a_hundred_first_lines_in_another_format_are_an_error(check: FormatCheck, warnings: list[str]) -> None:
    assert not check.accepts(Counter({MALFORMED: 99}), LINE)
    with pytest.raises(
        SetupError, match=r"the first 100 lines are not in the format combined \(no address\); .* the line: a line"
    ):
        check.accepts(Counter({MALFORMED: 1}), LINE)
    assert len(warnings) == 1


@pytest.mark.parametrize("other", [VISIT, ASSET, LineOutcome.NO_REQUEST, LineOutcome.BEFORE])
def test_a_line_in_the_format_lets_the_position_move(
    check: FormatCheck, warnings: list[str], other: LineOutcome
) -> None:
    assert check.accepts(Counter({MALFORMED: 500, other: 1}), LINE)
    assert warnings == []
    check.end()


def test_the_position_waits_for_the_first_line_in_the_format(check: FormatCheck, warnings: list[str]) -> None:
    assert not check.accepts(Counter({MALFORMED: 1}), LINE)
    assert warnings[0].startswith("the first line is not in the format combined (no address); ")
    assert warnings[0].endswith("the line: a line")
    assert not check.accepts(Counter({MALFORMED: 2}), LINE)
    assert check.accepts(Counter({VISIT: 1}), LINE)
    check.end()


def test_a_run_that_ends_with_malformed_lines_only_is_an_error(check: FormatCheck) -> None:
    check.end()
    assert not check.accepts(Counter({MALFORMED: 2}), LINE)
    with pytest.raises(SetupError, match="the first 2 lines are not"):
        check.end()


def test_each_sequence_of_malformed_lines_is_one_warning(check: FormatCheck, warnings: list[str]) -> None:
    for outcome in (VISIT, MALFORMED, MALFORMED, ASSET, MALFORMED):
        assert check.accepts(Counter({outcome: 200}), LINE)
    assert len(warnings) == 2
    assert "the last 200 lines are not in the format combined" in warnings[1]
    check.end()


def test_single_malformed_lines_later_are_no_warning(check: FormatCheck, warnings: list[str]) -> None:
    for _ in range(3):
        assert check.accepts(Counter({VISIT: 1}), LINE)
        for _ in range(9):
            assert check.accepts(Counter({MALFORMED: 1}), LINE)
    assert warnings == []
    assert check.accepts(Counter({MALFORMED: 1}), LINE)
    assert "the last 10 lines are not in the format combined" in warnings[0]


@pytest.mark.parametrize("outcome", [LineOutcome.TOO_LONG, LineOutcome.UNDECODABLE])
def test_lines_that_clients_can_cause_are_no_wrong_format(
    check: FormatCheck, warnings: list[str], outcome: LineOutcome
) -> None:
    assert check.accepts(Counter({outcome: 500}), None)
    assert not check.accepts(Counter({outcome: 500, MALFORMED: 1}), LINE)
    assert len(warnings) == 1
