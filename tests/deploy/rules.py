"""The rules of Prometheus and what belongs to them, as data."""

import json
import re
import shutil
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.registry import Collector

from tests.deploy.files import PROMETHEUS, ROOT
from tests.support.exposed_metrics import names_of
from tests.support.yaml_text import parsed
from tidemark.pipeline.metrics.metric import MetricKind
from tidemark.pipeline.metrics.metric_catalogue import CATALOGUE
from tidemark.pipeline.metrics.processes import PROCESSES
from tidemark.pipeline.sql_server.sql_metrics import SqlMetrics
from tidemark.pipeline.web.dashboard.dashboard_health import Health
from tidemark.pipeline.web.dashboard.page_metrics import PageMetrics
from tidemark.producers.access_log.line_metrics import LineCounts
from tidemark.producers.collect.request_metrics import Metrics

FOLDER: Final = PROMETHEUS.parent
RULES: Final = FOLDER / "rules"
ALERTMANAGER: Final = ROOT / "deploy" / "alertmanager" / "alertmanager.yml"
RUNBOOK: Final = ROOT / "docs" / "runbook.md"
_NOT_NAMES: Final = r"""
    "[^"]*"                                          # a label's value
  | \{[^}]*\}                                        # a selector
  | \[[^\]]*\]                                       # a range
  | \b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)
  | \boffset\s+\w+
  | (?<![:\w])(?:and|or|unless|sum|min|max|bool)\b
  | \b[a-z_]+\s*(?=\()                               # a function
"""


@cache
def rules() -> list[dict[str, Any]]:
    """Every rule, recording ones and alerts."""
    groups = [group for file in sorted(RULES.glob("*.yml")) for group in parsed(file.read_text())["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> dict[str, dict[str, Any]]:
    """The alerts by name."""
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


def known_names() -> set[str]:
    """An expression may ask for these: the page's series, what rules record, and Prometheus' own `up`."""
    page = {metric.name for metric in (*CATALOGUE, *PROCESSES)}
    histograms = [metric.name for metric in CATALOGUE if metric.kind is MetricKind.HISTOGRAM]
    parts = {f"{name}_{part}" for name in histograms for part in ("bucket", "count", "sum")}
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    return page | parts | recorded | names_of_other_processes() | {"up"}


def names_of_other_processes() -> set[str]:
    """The metrics of processes other than the service."""
    collectors: tuple[Collector, ...] = (
        Metrics(lambda: 0, 1).registry,
        PageMetrics(Health("/nowhere")).registry,
        SqlMetrics(lambda: 0).registry,
        LineCounts("name", Counter()),
    )
    return {name for collector in collectors for name in names_of(collector)}


def names_in(expression: str) -> set[str]:
    """The series that an expression asks for."""
    left = re.sub(_NOT_NAMES, " ", expression, flags=re.VERBOSE)
    return set(re.findall(r"[a-zA-Z_:][\w:]*", left))


def queries(file: Path, *, annotations: bool = False) -> list[str]:
    """The expressions of a dashboard's panels or annotations, as Grafana would ask Prometheus for every instance."""
    board = json.loads(file.read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"] if "expr" in target]
    asked = [each["expr"] for each in board["annotations"]["list"]] if annotations else asked
    return [query.replace("$__rate_interval", "1m").replace("$instance", ".*") for query in asked]


def tool(name: str) -> Path:
    """A program of Prometheus; skips the test where it is missing."""
    found = shutil.which(name)
    package = "prometheus-alertmanager" if name in {"amtool", "prometheus-alertmanager"} else "prometheus"
    if not found:
        pytest.skip(f"{name} is not on PATH; Debian has it in the package {package}")
    return Path(found)
