"""A wrong --format is an error before the position moves, or a warning while the log is followed."""

import json
from collections import Counter

import pytest

from tests.producers.access_log.test_formats import COMBINED, JSON
from tidemark.producers.access_log.format_check import _MISREAD, FormatCheck, MalformedLine
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.errors import SetUpError

VISIT, ASSET, MALFORMED = LineOutcome.VISIT, LineOutcome.ASSET, LineOutcome.MALFORMED
LINE = MalformedLine("a line", "no address")

CADDY_REQUEST = {"client_ip": "203.0.113.7", "method": "GET", "host": "shop.example", "uri": "/", "headers": {}}
GOOGLE_REQUEST = {
    "remoteIp": "203.0.113.7",
    "requestMethod": "GET",
    "requestUrl": "https://shop.example/",
    "status": 200,
}
GOOGLE_ENTRY = {"timestamp": "2026-05-01T12:00:00.186641Z", "httpRequest": GOOGLE_REQUEST}
TRAEFIK_ENTRY = {
    "ClientHost": "203.0.113.7",
    "StartUTC": "2024-05-01T12:00:00.999999999Z",
    "RequestMethod": "GET",
    "RequestPath": "/",
    "DownstreamStatus": 200,
}


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def check(warnings: list[str]) -> FormatCheck:
    return FormatCheck("combined", warnings.append)


def test_a_hundred_first_lines_in_another_format_are_an_error(check: FormatCheck, warnings: list[str]) -> None:
    assert not check.accepts(Counter({MALFORMED: 99}), LINE)
    with pytest.raises(
        SetUpError, match=r"the first 100 lines are not in the format combined \(no address\); .* the line: a line"
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
    with pytest.raises(SetUpError, match="the first 2 lines are not"):
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


REASONS = [outcome for outcome in LineOutcome if outcome in _MISREAD]


@pytest.mark.parametrize("outcome", REASONS)
def test_a_hundred_first_lines_that_are_no_visits_for_one_reason_are_an_error(
    check: FormatCheck, outcome: LineOutcome
) -> None:
    assert check.accepts(Counter({outcome: 99, MALFORMED: 5, LineOutcome.TOO_LONG: 5}), LINE)
    with pytest.raises(SetUpError, match=rf"the first 100 lines .*\({outcome.value}\); correct --format"):
        check.accepts(Counter({outcome: 1}), LINE)


@pytest.mark.parametrize("other", [VISIT, ASSET, LineOutcome.PROBE, LineOutcome.ROBOT, LineOutcome.BEFORE])
@pytest.mark.parametrize("outcome", REASONS)
def test_one_line_whose_fields_were_read_rightly_is_enough(
    check: FormatCheck, outcome: LineOutcome, other: LineOutcome
) -> None:
    assert check.accepts(Counter({other: 1}), None)
    assert check.accepts(Counter({outcome: 500}), None)


@pytest.mark.parametrize("outcome", [ASSET, LineOutcome.PROBE, LineOutcome.ROBOT, LineOutcome.IGNORED])
def test_a_log_may_begin_with_health_checks_bots_or_assets(check: FormatCheck, outcome: LineOutcome) -> None:
    assert check.accepts(Counter({outcome: 500}), None)


def test_two_reasons_are_no_wrong_format(check: FormatCheck) -> None:
    assert check.accepts(Counter({LineOutcome.REDIRECT: 400, LineOutcome.CLIENT_ERROR: 1}), None)


def test_a_run_that_resumes_may_begin_with_an_outage(warnings: list[str]) -> None:
    check = FormatCheck("combined", warnings.append, is_first=False)
    assert check.accepts(Counter({LineOutcome.SERVER_ERROR: 500}), None)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (COMBINED, "; it is in the format combined;"),
        (f"shop.example {COMBINED}", "; it is in the format vhost_combined;"),
        (json.dumps(JSON), "; it is in the format json;"),
        (json.dumps({"ts": 1.7e9, "status": 200, "request": CADDY_REQUEST}), "; it is in the format caddy;"),
        (json.dumps(GOOGLE_ENTRY), "; it is in the format google;"),
        (json.dumps(TRAEFIK_ENTRY), "; it is in the format traefik;"),
        (json.dumps({"a": 1}), "; it is JSON: use the format json, and name its fields by --json-fields;"),
        ("[" * 100_000, "); correct"),
        ("quit", "); correct"),
    ],
)
def test_the_format_of_the_line_is_named(check: FormatCheck, line: str, hint: str) -> None:
    assert not check.accepts(Counter({MALFORMED: 1}), MalformedLine(line, "no address"))
    with pytest.raises(SetUpError) as error:
        FormatCheck.end(check)
    if "format combined;" not in hint:
        assert hint in str(error.value)
    else:
        assert hint not in str(error.value), "it is the format of the run"
