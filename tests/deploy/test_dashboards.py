"""Grafana's dashboards: what is checked in is what is made, and asks for what there is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dev.dashboards.__main__ import FOLDER, dashboard_files
from tests.deploy.rules import alerts, known_names, names_in, queries, rules
from tests.support.yaml_text import parsed
from tidemark.pipeline.metrics.metric_catalogue import CATALOGUE
from tidemark.pipeline.metrics.processes import PROCESSES

BY_SQL = FOLDER / "visitors.json"
EVERY_FILE = sorted(FOLDER.glob("*.json"))
FILES = [file for file in EVERY_FILE if file != BY_SQL]
SOURCES = FOLDER.parent / "provisioning" / "datasources"
WITHOUT_PANEL = {
    "process_virtual_memory_bytes": "address space costs nothing; resident memory has a panel",
    "tidemark_java_process_start_time_seconds": "Java starts and ends with the Python process, whose starts are marked",
    "tidemark_java_process_virtual_memory_bytes": "as for the Python process",
    "tidemark_unsettled_records_total": "0 unless arrival decides what is late, which is not the default",
    "tidemark_watermark_timestamp_seconds": "the watermark lag is its age",
}
"""The reason, by metric."""


def all_panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = [panel for file in FILES for panel in json.loads(file.read_text())["panels"]]
    assert panels
    return panels


def test_the_dashboards_are_what_the_module_makes() -> None:
    assert {file: file.read_text() for file in EVERY_FILE} == dashboard_files(), "make pages"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_query_asks_for_series_that_there_are(file: Path) -> None:
    found, annotations = queries(file), queries(file, annotations=True)
    assert found
    assert len(annotations) == 2
    for query in (*found, *annotations):
        assert names_in(query) <= known_names(), query


def test_every_panel_asks_the_source_that_is_provisioned_and_says_its_question() -> None:
    for name, panels in (("prometheus.yml", all_panels()), ("sql.yml", json.loads(BY_SQL.read_text())["panels"])):
        (source,) = parsed((SOURCES / name).read_text())["datasources"]
        for panel in panels:
            assert panel["datasource"] == {"type": source["type"], "uid": source["uid"]}
            assert panel["description"]


def test_every_metric_has_a_panel_or_a_reason() -> None:
    asked = [query for file in FILES for query in (*queries(file), *queries(file, annotations=True))]
    recorded = {rule["record"]: rule["expr"] for rule in rules() if "record" in rule}
    names = set().union(*map(names_in, asked))
    names |= {name for record in names & recorded.keys() for name in names_in(recorded[record])}
    displayed = {re.sub("_(bucket|count|sum)$", "", name) for name in names}
    metrics = {metric.name for metric in (*CATALOGUE, *PROCESSES)}
    assert metrics - displayed == set(WITHOUT_PANEL)
    assert all(WITHOUT_PANEL.values())


def test_every_value_has_thresholds_of_its_own() -> None:
    stats = [panel for panel in all_panels() if panel["type"] == "stat"]
    steps = {panel["title"]: panel["fieldConfig"]["defaults"]["thresholds"]["steps"] for panel in stats}
    assert all(steps.values())  # without steps Grafana's own are used: red above 80
    assert [(step["value"], step["color"]) for step in steps["Imbalance"]] == [(None, "green"), (1, "red")]


def test_links_of_panels_lead_to_sections_of_the_runbook() -> None:
    links = [link["url"] for panel in all_panels() for link in panel.get("links", [])]
    assert len(links) > 10
    assert {link.removeprefix("${runbook}#") for link in links} <= {name.lower() for name in alerts()}


def test_the_folder_that_grafana_reads_is_one_to_mount() -> None:
    (provider,) = parsed((FOLDER.parent / "provisioning" / "dashboards" / "tidemark.yml").read_text())["providers"]
    assert provider["options"]["path"] == "/var/lib/grafana/dashboards"
