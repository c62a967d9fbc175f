"""Alert rules, their runbook, and what Alertmanager makes of them."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.rules import ALERTMANAGER, FOLDER, RULES, RUNBOOK, alerts, known_names, names_in, rules, tool
from tests.support.cases import case
from tests.support.waiting import PATIENCE_S
from tests.support.yaml_text import parsed
from tidemark.pipeline.event_time.policy import Verdict

TESTS = sorted((FOLDER / "tests").glob("*.yml"))
INHIBITIONS = parsed(ALERTMANAGER.read_text())["inhibit_rules"]
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", RUNBOOK.read_text(), re.MULTILINE | re.DOTALL))


def run(program: str, *arguments: str | Path, folder: Path = FOLDER) -> None:
    done = subprocess.run(
        [tool(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=PATIENCE_S,
        env={**os.environ, "GOGC": "1000"},  # a sixth less of the processor's time, for half a gigabyte at most
    )
    assert done.returncode == 0, done.stdout + done.stderr


def checks() -> list[dict[str, Any]]:
    return [check for file in TESTS for test in parsed(file.read_text())["tests"] for check in test["alert_rule_test"]]


def test_an_alert_says_how_urgent_it_is_and_where_its_runbook_is() -> None:
    for name, alert in alerts().items():
        with case(name):
            assert alert["labels"]["severity"] in {"critical", "warning"}
            assert alert["annotations"].keys() == {"summary", "runbook_url"}
            assert alert["annotations"]["runbook_url"] == f"docs/runbook.md#{name.lower()}"


def test_every_alert_has_its_section_in_the_runbook_and_every_section_an_alert() -> None:
    assert list(SECTIONS) == list(alerts())


def test_a_section_has_meaning_impact_diagnosis_and_mitigation() -> None:
    for name, section in SECTIONS.items():
        parts = re.findall(r"^- \*\*(\w+)\*\*: \S", section, re.MULTILINE)
        assert parts == ["Meaning", "Impact", "Diagnosis", "Mitigation"], name


def test_every_metric_that_is_named_is_on_the_page() -> None:
    for text in (RUNBOOK.read_text(), *(rule["expr"] for rule in rules())):
        named = set(re.findall(r"`(tidemark_\w+)`", text)) if text.startswith("#") else names_in(text)
        assert named, text
        assert named <= known_names()


def test_every_alert_is_seen_to_fire_and_to_stay_silent() -> None:
    assert {check["alertname"] for check in checks() if check.get("exp_alerts")} == {*alerts()}
    assert {check["alertname"] for check in checks() if not check.get("exp_alerts")} == {*alerts()}


def test_every_file_evaluates_recording_rules_before_the_alerts_that_use_them() -> None:
    groups = [group["name"] for file in RULES.glob("*.yml") for group in parsed(file.read_text())["groups"]]
    for file in TESTS:  # promtool evaluates groups that are not listed first, in any order
        first, *others = parsed(file.read_text())["group_eval_order"]
        assert first == "tidemark-recording"
        assert sorted([first, *others]) == sorted(groups)


@pytest.mark.slow
@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_the_alerts_do_what_their_tests_say(file: Path) -> None:
    run("promtool", "test", "rules", file.name, folder=file.parent)


def test_promtool_takes_the_rules() -> None:
    run("promtool", "check", "rules", *sorted(RULES.glob("*.yml")))


def test_amtool_takes_the_configuration_of_alertmanager() -> None:
    run("amtool", "check-config", ALERTMANAGER)


def matchers(rule: dict[str, Any], side: str) -> list[tuple[str, str]]:
    """The operators and patterns of one side of an inhibition."""
    matches = (re.fullmatch(r'alertname (=|=~|!~) "(.*)"', text) for text in rule[f"{side}_matchers"])
    return [(match[1], match[2]) for match in matches if match]


def matched(rule: dict[str, Any], side: str) -> list[str]:
    """The alerts of one side of an inhibition."""
    return [
        name
        for name in alerts()
        if all((operator == "!~") != bool(re.fullmatch(text, name)) for operator, text in matchers(rule, side))
    ]


def test_inhibitions_name_existing_alerts_only() -> None:
    for rule in INHIBITIONS:
        for side in ("source", "target"):
            assert len(matchers(rule, side)) == len(rule[f"{side}_matchers"])
            for _, patterns in matchers(rule, side):
                for pattern in patterns.split("|"):
                    assert [name for name in alerts() if re.fullmatch(pattern, name)], pattern


def test_an_alert_is_inhibited_only_by_alerts_of_at_least_its_severity() -> None:
    pairs = [(a, b) for rule in INHIBITIONS for a in matched(rule, "source") for b in matched(rule, "target")]
    assert len(pairs) > len(INHIBITIONS)
    severity = {name: alert["labels"]["severity"] for name, alert in alerts().items()}
    assert [(a, b) for a, b in pairs if a == b or (severity[a], severity[b]) == ("warning", "critical")] == []


@pytest.mark.parametrize("reason", [*Verdict, "partly_late"])
def test_a_verdict_has_a_rule_or_the_runbook_says_why_not(reason: str) -> None:
    selectors = [
        re.fullmatch(selector, reason)
        for alert in alerts().values()
        for selector in re.findall(r'(?:reason|verdict)=~?"([^"]+)"', alert["expr"])
    ]
    has_no_alert = re.search(rf"^\| `{reason}` \| \S", RUNBOOK.read_text(), re.MULTILINE)
    assert any(selectors) != bool(has_no_alert)
