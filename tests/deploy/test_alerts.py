"""Alert rules, their runbook, and what Alertmanager makes of them."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.rules import ALERTMANAGER, FOLDER, RULES, RUNBOOK, alerts, known_names, names_in, rules, tool
from tests.support.yaml_text import parsed

TESTS = sorted((FOLDER / "tests").glob("*.yml"))
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", RUNBOOK.read_text(), re.MULTILINE | re.DOTALL))


def run(program: str, *arguments: str | Path, folder: Path = FOLDER) -> None:
    done = subprocess.run(
        [tool(program), *arguments], capture_output=True, text=True, check=False, cwd=folder, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def checks() -> list[dict[str, Any]]:
    return [check for file in TESTS for test in parsed(file.read_text())["tests"] for check in test["alert_rule_test"]]


@pytest.mark.parametrize("alert", alerts().values(), ids=alerts())
def test_an_alert_says_how_urgent_it_is_and_where_its_runbook_is(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert alert["annotations"].keys() == {"summary", "runbook_url"}
    assert alert["annotations"]["runbook_url"] == f"docs/runbook.md#{alert['alert'].lower()}"


def test_every_alert_has_its_section_in_the_runbook_and_every_section_an_alert() -> None:
    assert list(SECTIONS) == list(alerts())


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_has_meaning_impact_diagnosis_and_mitigation(name: str) -> None:
    assert re.findall(r"^- \*\*(\w+)\*\*: \S", SECTIONS[name], re.MULTILINE) == [
        "Meaning", "Impact", "Diagnosis", "Mitigation",
    ]  # fmt: skip


@pytest.mark.parametrize("text", [RUNBOOK.read_text(), *(rule["expr"] for rule in rules())], ids=lambda text: text[:40])
def test_every_metric_that_is_named_is_on_the_page(text: str) -> None:
    named = set(re.findall(r"`(tidemark_\w+)`", text)) if text.startswith("#") else names_in(text)
    assert named
    assert named <= known_names()


def test_every_alert_is_seen_to_fire_and_to_stay_silent() -> None:
    assert {check["alertname"] for check in checks() if check.get("exp_alerts")} == {*alerts()}
    assert {check["alertname"] for check in checks() if not check.get("exp_alerts")} == {*alerts()}


@pytest.mark.slow
@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_the_alerts_do_what_their_tests_say(file: Path) -> None:
    run("promtool", "test", "rules", file.name, folder=file.parent)


def test_promtool_takes_the_rules() -> None:
    run("promtool", "check", "rules", *sorted(RULES.glob("*.yml")))


def test_amtool_takes_the_configuration_of_alertmanager() -> None:
    run("amtool", "check-config", ALERTMANAGER)


def test_inhibit_rules_refer_to_alerts_that_exist() -> None:
    inhibited = parsed(ALERTMANAGER.read_text())["inhibit_rules"]
    for matcher in (one for rule in inhibited for part in ("source", "target") for one in rule[f"{part}_matchers"]):
        operator, patterns = re.fullmatch(r'alertname (=|=~|!~) "(.*)"', matcher).groups()  # type: ignore[union-attr]
        for pattern in patterns.split("|"):
            assert [name for name in alerts() if re.fullmatch(pattern, name)], (operator, pattern)
