"""The Kubernetes manifests as kubectl renders them, and the chart as Helm does."""

import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, cast

import helm_python
import yaml

from tests.deploy.files import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
CHART = ROOT / "deploy" / "helm" / "tidemark"
DEV, PRODUCTION, OPERATOR = FOLDER / "overlays" / "dev", FOLDER / "overlays" / "production", FOLDER / "spark-operator"
ALL = (DEV, PRODUCTION, OPERATOR)
KUBECTL = Path(sys.executable).with_name("kubectl")
Resource = dict[str, Any]


class _Loader(yaml.CSafeLoader):
    """Reads a plain `=` as text, as YAML 1.2 and Kubernetes do."""


_Loader.add_constructor("tag:yaml.org,2002:value", lambda _, node: node.value)


@cache
def rendered(folder: Path) -> tuple[Resource, ...]:
    """Every resource of an overlay."""
    done = subprocess.run([KUBECTL, "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(yaml.load_all(done.stdout, _Loader))


def rendered_by_helm(values: Resource, release: str = "tidemark", namespace: str = "tidemark") -> list[Resource]:
    """Every resource of a release. Raises HelmValuesError for values that the schema refuses."""
    with helm_python.Chart.load(str(CHART)) as chart:
        texts = chart.render(values, name=release, namespace=namespace).values()
    return [resource for text in texts for resource in yaml.load_all(text, _Loader) if resource]


def one(folder: Path, kind: str) -> Resource:
    """The only resource of a kind."""
    return one_of(rendered(folder), kind)


def one_of(resources: Iterable[Resource], kind: str) -> Resource:
    """The only resource of a kind."""
    (found,) = [resource for resource in resources if resource["kind"] == kind]
    return found


def driver(folder: Path) -> Resource:
    """The container of the driver."""
    (container,) = one(folder, "Deployment")["spec"]["template"]["spec"]["containers"]
    return cast(Resource, container)


def variables(container: Resource) -> dict[str, str]:
    """Returns the variables that it is given in plain words."""
    return {variable["name"]: variable["value"] for variable in container["env"] if "value" in variable}


def config(folder: Path) -> dict[str, Any]:
    """The settings' file that the driver finds in its container."""
    return tomllib.loads(one(folder, "ConfigMap")["data"]["tidemark.toml"])
