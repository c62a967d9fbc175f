"""The patches in the documents make of the manifests what Helm derives from its values."""

import re
import shutil
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.deploy.files import DEPLOYING
from tests.deploy.rendered import FOLDER, PRODUCTION, Resource, one, one_of, rendered_by_helm
from tests.deploy.test_helm import PRODUCTION_VALUES, comparable
from tests.deploy.test_helm_values import ANY_ID, TLS
from tests.deploy.test_kubernetes_schemas import SCHEMAS

pytestmark = pytest.mark.slow
PATCHED: Resource = {
    **PRODUCTION_VALUES,
    "settings": {
        **PRODUCTION_VALUES["settings"],
        "metrics": {**TLS["metrics"], "username": "reader"},
    },
    "schemasConfigMap": "user-events-schemas",
    "podSecurityContext": ANY_ID,
}


def patched(folder: Path) -> Path:
    """Copies the manifests with all patches of the documents, and returns the overlay for production."""
    copied = Path(shutil.copytree(FOLDER, folder / "kubernetes"))
    (block,) = re.findall(r"```yaml\n(patches:\n.*?)```", DEPLOYING.read_text(), re.DOTALL)
    file = copied / PRODUCTION.relative_to(FOLDER) / "kustomization.yaml"
    overlay = yaml.safe_load(file.read_text())
    overlay["patches"] += yaml.safe_load(block)["patches"]
    file.write_text(yaml.safe_dump(overlay))
    return file.parent


def test_patches_render_what_helm_derives_from_its_values(tmp_path: Path) -> None:
    overlay, by_helm = patched(tmp_path), rendered_by_helm(PATCHED)
    deployment = one(overlay, "Deployment")
    kubernetes_validate.validate(deployment, SCHEMAS, strict=True)
    assert mounts_sorted(deployment) == mounts_sorted(one_of(by_helm, "Deployment"))
    patched_monitor, monitor = one(overlay, "PodMonitor"), one_of(by_helm, "PodMonitor")
    # Only Helm knows the name of the user, and has a secret for it.
    users = [each["spec"]["podMetricsEndpoints"][0]["basicAuth"].pop("username") for each in (patched_monitor, monitor)]
    assert users[0] == {"name": "tidemark", "key": "TIDEMARK_METRICS__USERNAME"}
    assert patched_monitor == monitor


def mounts_sorted(deployment: Resource) -> Resource:
    """Returns a Deployment that can be compared with that of the other tool, with its mounts in order of names."""
    (found,) = comparable([deployment]).values()
    found["spec"]["template"]["spec"]["containers"][0]["volumeMounts"].sort(key=lambda mount: mount["name"])
    return found
