"""Grafana's dashboards: what is checked in is what is made, and asks for what there is."""

import json
from pathlib import Path

import pytest

from dev.dashboards.__main__ import FOLDER, dashboard_files
from tests.deploy.rules import known_names, names_in, queries
from tests.support.yaml_text import parsed

FILES = sorted(FOLDER.glob("*.json"))


def test_the_dashboards_are_what_the_module_makes() -> None:
    assert {file: file.read_text() for file in FILES} == dashboard_files(), "make pages"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_query_asks_for_series_that_there_are(file: Path) -> None:
    found = queries(file)
    assert found
    for query in found:
        assert names_in(query) <= known_names(), query


def test_every_panel_asks_the_source_that_is_provisioned_and_says_its_question() -> None:
    (source,) = parsed((FOLDER.parent / "provisioning" / "datasources" / "prometheus.yml").read_text())["datasources"]
    panels = [panel for file in FILES for panel in json.loads(file.read_text())["panels"]]
    assert panels
    for panel in panels:
        assert panel["datasource"] == {"type": source["type"], "uid": source["uid"]}
        assert panel["description"]


def test_the_folder_that_grafana_reads_is_one_to_mount() -> None:
    (provider,) = parsed((FOLDER.parent / "provisioning" / "dashboards" / "tidemark.yml").read_text())["providers"]
    assert provider["options"]["path"] == "/var/lib/grafana/dashboards"
