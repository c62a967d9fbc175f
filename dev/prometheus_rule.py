"""Writes the resources of the Prometheus operator from the files of Prometheus and Alertmanager.

`python -m dev.prometheus_rule` writes the rules and the inhibitions: the operator reads both from resources that
kustomize cannot generate. Helm's chart has links to these files.
"""

import re
import sys
from pathlib import Path
from typing import Any, Final

import yaml

_DEPLOY: Final = Path(__file__).parents[1] / "deploy"
_MONITORING: Final = _DEPLOY / "kubernetes" / "monitoring"
RULES: Final = _DEPLOY / "prometheus" / "rules"
ALERTMANAGER: Final = _DEPLOY / "alertmanager" / "alertmanager.yml"
RESOURCE: Final = _MONITORING / "prometheus-rule.yaml"
INHIBITIONS: Final = _MONITORING / "alertmanager-config.yaml"
_METADATA: Final = {"name": "tidemark", "labels": {"release": "kube-prometheus-stack"}}
_HEADER: Final = "# Generated from {source} by `python -m dev.prometheus_rule`; change it there.\n"


def rules() -> str:
    """Returns the PrometheusRule with the groups of all files, in the order of their names."""
    files = sorted(RULES.glob("*.yml"))
    groups: list[Any] = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    return _resource("deploy/prometheus/rules/", "monitoring.coreos.com/v1", "PrometheusRule", {"groups": groups})


def inhibitions() -> str:
    """Returns the AlertmanagerConfig with the inhibitions; its route and receivers are those of the cluster."""
    inhibited = yaml.safe_load(ALERTMANAGER.read_text())["inhibit_rules"]
    spec = {"inhibitRules": [_inhibition(rule) for rule in inhibited]}
    source = "deploy/alertmanager/alertmanager.yml"
    return _resource(source, "monitoring.coreos.com/v1alpha1", "AlertmanagerConfig", spec)


def _inhibition(rule: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "sourceMatch": [_matcher(text) for text in rule["source_matchers"]],
        "targetMatch": [_matcher(text) for text in rule["target_matchers"]],
        **({"equal": rule["equal"]} if "equal" in rule else {}),
    }


def _matcher(text: str) -> dict[str, str]:
    """Splits a matcher of Alertmanager. Raises ValueError if `text` has another form.

    >>> _matcher('alertname =~ "A|B"')
    {'name': 'alertname', 'matchType': '=~', 'value': 'A|B'}
    """
    parts = re.fullmatch(r'\s*(\w+)\s*(=~|!~|!=|=)\s*"?(.*?)"?\s*', text)
    if not parts:
        raise ValueError(f"{text!r} is no matcher")
    return dict(zip(("name", "matchType", "value"), parts.groups(), strict=True))


def _resource(source: str, version: str, kind: str, spec: dict[str, Any]) -> str:
    resource = {"apiVersion": version, "kind": kind, "metadata": _METADATA, "spec": spec}
    return _HEADER.format(source=source) + yaml.safe_dump(resource, sort_keys=False, width=120)


def main() -> None:
    """Replaces the resources in the repository."""
    for file, text in ((RESOURCE, rules()), (INHIBITIONS, inhibitions())):
        file.write_text(text)
        sys.stdout.write(f"wrote {file.name}\n")


if __name__ == "__main__":
    main()
