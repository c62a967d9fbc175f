"""The Kubernetes manifests are true to each other and to the image."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.prometheus_rule import RESOURCE, text
from pipeline.settings.model import Settings
from tests.deploy.files import SERVICE
from tests.deploy.rendered import (
    ALL,
    DEV,
    FOLDER,
    OPERATOR,
    PRODUCTION,
    Resource,
    config,
    driver,
    one,
    rendered,
    variables,
)
from tests.support.yaml_text import parsed

pytestmark = pytest.mark.slow
NAMED = [pytest.param(folder, id=folder.name) for folder in ALL]


@pytest.mark.parametrize("folder", NAMED)
def test_all_is_in_one_namespace_that_is_made_with_it(folder: Path) -> None:
    made = one(folder, "Namespace")["metadata"]["name"]
    assert {each["metadata"].get("namespace", made) for each in rendered(folder)} == {made}


def pods(folder: Path) -> list[tuple[Resource, Resource]]:
    """Every pod, and its container, that an overlay leads to: the driver's, and the executors' that Spark makes."""
    specs = [each["spec"]["template"]["spec"] for each in rendered(folder) if each["kind"] == "StatefulSet"]
    if folder == PRODUCTION:
        specs.append(parsed(one(folder, "ConfigMap")["data"]["executor.yaml"])["spec"])
    if folder == OPERATOR:
        application = one(folder, "SparkApplication")["spec"]
        roles = [application["driver"], application["executor"]]
        return [({"securityContext": role["podSecurityContext"]}, role) for role in roles]
    return [(spec, *spec["containers"]) for spec in specs]


@pytest.mark.parametrize("folder", NAMED)
def test_nothing_is_root_and_nothing_but_volumes_can_be_written(folder: Path) -> None:
    found = pods(folder)
    assert len(found) == (1 if folder == DEV else 2)
    for pod, container in found:
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["runAsUser"] == 10001
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
        assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}  # noqa: S108 - of the container


@pytest.mark.parametrize("folder", [DEV, PRODUCTION], ids=["dev", "production"])
def test_probes_and_ports_are_those_of_the_service(folder: Path) -> None:
    container, port = driver(folder), Settings().metrics.port
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports["metrics"] == port
    paths = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    offered = {each["port"] for each in one(folder, "Service")["spec"]["ports"]}
    assert offered == set(ports.values())


def test_executors_have_the_image_of_the_driver() -> None:
    conf = json.loads(variables(driver(PRODUCTION))["TIDEMARK_SPARK__CONF"])
    assert conf["spark.kubernetes.container.image"] == driver(PRODUCTION)["image"] == SERVICE
    assert one(OPERATOR, "SparkApplication")["spec"]["image"] == SERVICE


def test_an_image_that_is_pinned_in_one_place_is_that_of_driver_and_executors(tmp_path: Path) -> None:
    copied = Path(shutil.copytree(FOLDER, tmp_path / "kubernetes")) / PRODUCTION.relative_to(FOLDER)
    file, digest = copied / "kustomization.yaml", f"sha256:{64 * 'a'}"
    said = re.sub("^# (images:|  - name:|    newName:|    digest:)", r"\1", file.read_text(), flags=re.MULTILINE)
    file.write_text(said.replace("sha256:...", digest))
    container = driver(copied)
    assert container["image"] == f"registry.example/tidemark@{digest}"
    conf = json.loads(variables(container)["TIDEMARK_SPARK__CONF"])
    assert conf["spark.kubernetes.container.image"] == container["image"]


def test_executors_find_the_driver_by_its_pod_and_its_service() -> None:
    conf, spec = config(PRODUCTION)["spark"]["conf"], one(PRODUCTION, "StatefulSet")["spec"]
    service = one(PRODUCTION, "Service")
    pod = f"{one(PRODUCTION, 'StatefulSet')['metadata']['name']}-0"
    assert spec["serviceName"] == service["metadata"]["name"]
    assert (service["spec"]["clusterIP"], service["spec"]["publishNotReadyAddresses"]) == ("None", True)
    assert conf["spark.kubernetes.driver.pod.name"] == pod
    assert conf["spark.driver.host"] == f"{pod}.{spec['serviceName']}"
    assert conf["spark.kubernetes.namespace"] == one(PRODUCTION, "Namespace")["metadata"]["name"]
    ports = {str(each["port"]) for each in service["spec"]["ports"]}
    assert {conf["spark.driver.port"], conf["spark.blockManager.port"]} < ports


@pytest.mark.parametrize("folder", NAMED)
def test_every_selector_matches_a_pod(folder: Path) -> None:
    labels = [each["metadata"]["labels"] for each in templates(folder)]
    for selector in selectors(folder):
        assert any(selector.items() <= each.items() for each in labels), selector


def templates(folder: Path) -> list[Resource]:
    """The metadata of the pods."""
    if folder == OPERATOR:
        application = one(folder, "SparkApplication")["spec"]
        return [{"metadata": application[role]} for role in ("driver", "executor")]
    found = [one(folder, "StatefulSet")["spec"]["template"]]
    return found + ([parsed(one(folder, "ConfigMap")["data"]["executor.yaml"])] if folder == PRODUCTION else [])


def selectors(folder: Path) -> list[dict[str, str]]:
    """Every selector of pods."""
    found: list[dict[str, str]] = []
    for resource in rendered(folder):
        spec = resource.get("spec", {})
        selector = spec.get("podSelector") or spec.get("selector") or {}
        found += [selector.get("matchLabels", selector)] if selector else []
    assert found
    return found


def test_the_alerts_find_the_job_by_the_name_that_they_ask_for() -> None:
    labels = templates(PRODUCTION)[0]["metadata"]["labels"]
    assert labels[one(PRODUCTION, "PodMonitor")["spec"]["jobLabel"]] == "tidemark"


def test_the_rules_are_those_of_prometheus() -> None:
    assert RESOURCE.read_text() == text(), "run `python -m dev.prometheus_rule`"


def test_manifests_refer_to_secrets_and_contain_no_secret() -> None:
    for folder in ALL:
        assert "Secret" not in {resource["kind"] for resource in rendered(folder)}
        manifests = yaml.safe_dump([without_files(resource) for resource in rendered(folder)])
        assert not re.search(r"(?i)password|secret_?access|private.?key", manifests)
        assert {"name": "tidemark", "optional": True} in references(folder)


def without_files(resource: Resource) -> Resource:
    return {name: value for name, value in resource.items() if name != "data"}


def references(folder: Path) -> list[Any]:
    """The secrets that give variables."""
    role = one(folder, "SparkApplication")["spec"]["driver"] if folder == OPERATOR else driver(folder)
    return [each["secretRef"] for each in role["envFrom"]]
