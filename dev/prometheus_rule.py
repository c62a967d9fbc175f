"""Writes the PrometheusRule of Kubernetes from the rules of Prometheus: `python -m dev.prometheus_rule`.

The operator reads the groups from a resource of its own, which kustomize cannot generate.
"""

import sys
from pathlib import Path
from typing import Any, Final

import yaml

_DEPLOY: Final = Path(__file__).parents[1] / "deploy"
RULES: Final = _DEPLOY / "prometheus" / "rules"
RESOURCE: Final = _DEPLOY / "kubernetes" / "monitoring" / "prometheus-rule.yaml"
_HEADER: Final = "# Made of deploy/prometheus/rules/ by `python -m dev.prometheus_rule`; change them there.\n"


def text() -> str:
    """Returns the resource with the groups of all files, in the order of their names."""
    files = sorted(RULES.glob("*.yml"))
    groups: list[Any] = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    resource = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "tidemark"},
        "spec": {"groups": groups},
    }
    return _HEADER + yaml.safe_dump(resource, sort_keys=False, width=120)


def main() -> None:
    """Replaces the resource in the repository."""
    RESOURCE.write_text(text())
    sys.stdout.write(f"wrote the rules of {RULES} to {RESOURCE.name}\n")


if __name__ == "__main__":
    main()
