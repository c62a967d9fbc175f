"""The Kubernetes manifests as kubectl renders them."""

import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml

from tests.deploy.files import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
DEV, PRODUCTION, OPERATOR = FOLDER / "overlays" / "dev", FOLDER / "overlays" / "production", FOLDER / "spark-operator"
ALL = (DEV, PRODUCTION, OPERATOR)
KUBECTL = Path(sys.executable).with_name("kubectl")
Resource = dict[str, Any]


@cache
def rendered(folder: Path) -> tuple[Resource, ...]:
    """Every resource of an overlay."""
    done = subprocess.run([KUBECTL, "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(yaml.load_all(done.stdout, yaml.CSafeLoader))


def one(folder: Path, kind: str) -> Resource:
    """The only resource of a kind."""
    (found,) = [resource for resource in rendered(folder) if resource["kind"] == kind]
    return found


def driver(folder: Path) -> Resource:
    """The container of the driver."""
    (container,) = one(folder, "StatefulSet")["spec"]["template"]["spec"]["containers"]
    return cast(Resource, container)


def variables(container: Resource) -> dict[str, str]:
    """Returns the variables that it is given in plain words."""
    return {variable["name"]: variable["value"] for variable in container["env"]}


def config(folder: Path) -> dict[str, Any]:
    """The settings' file that the driver finds in its container."""
    return tomllib.loads(one(folder, "ConfigMap")["data"]["tidemark.toml"])
