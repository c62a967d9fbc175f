"""The Kubernetes manifests are true to each other and to the image."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.prometheus_rule import INHIBITIONS, RESOURCE, inhibitions, rules
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
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.slow
NAMED = [pytest.param(folder, id=folder.name) for folder in ALL]


@pytest.mark.parametrize("folder", NAMED)
def test_all_is_in_one_namespace_that_is_made_with_it(folder: Path) -> None:
    made = one(folder, "Namespace")["metadata"]["name"]
    assert {each["metadata"].get("namespace", made) for each in rendered(folder)} == {made}


def pods(folder: Path) -> list[tuple[Resource, Resource]]:
    """Every pod, and its container, that an overlay leads to: the driver's, and the executors' that Spark makes."""
    specs = [each["spec"]["template"]["spec"] for each in rendered(folder) if each["kind"] == "Deployment"]
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
    admitted = [each["port"] for rule in one(folder, "NetworkPolicy")["spec"]["ingress"] for each in rule["ports"]]
    assert set(admitted) == set(ports.values())


def test_the_operator_gives_the_driver_the_same_probes() -> None:
    application = one(OPERATOR, "SparkApplication")["spec"]["driver"]
    (container,) = application["template"]["spec"]["containers"]
    port = {each["name"]: each["containerPort"] for each in application["ports"]}["metrics"]
    probes = {name: driver(DEV)[name] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert container == {
        "name": "spark-kubernetes-driver",  # the name that Spark gives the driver's container
    } | {name: {**probe, "httpGet": {**probe["httpGet"], "port": port}} for name, probe in probes.items()}
    spec = one(DEV, "Deployment")["spec"]["template"]["spec"]
    grace = application["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace == spec["terminationGracePeriodSeconds"]


def test_the_operator_restarts_an_application_whose_settings_have_changed() -> None:
    (file,) = one(OPERATOR, "SparkApplication")["spec"]["driver"]["configMaps"]
    assert file["name"] == one(OPERATOR, "ConfigMap")["metadata"]["name"]
    assert re.fullmatch(r"tidemark-[a-z0-9]{10}", file["name"]), "the hash of the settings"


def test_a_pod_uses_no_more_cores_than_it_asks_for() -> None:
    for folder in (DEV, PRODUCTION):
        assert driver(folder)["resources"]["limits"]["cpu"] == "2"
    conf = config(PRODUCTION)["spark"]["conf"]
    assert conf["spark.kubernetes.executor.limit.cores"] == conf["spark.executor.cores"]
    application = one(OPERATOR, "SparkApplication")["spec"]
    assert {application[role]["coreLimit"] for role in ("driver", "executor")} == {"2"}


@pytest.mark.parametrize("folder", [DEV, PRODUCTION], ids=["dev", "production"])
def test_a_dead_node_costs_a_minute_and_two_drivers_are_never_rolled_out_at_once(folder: Path) -> None:
    spec = one(folder, "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    seconds = {each["key"]: each["tolerationSeconds"] for each in spec["template"]["spec"]["tolerations"]}
    assert seconds == {"node.kubernetes.io/not-ready": 60, "node.kubernetes.io/unreachable": 60}


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


def test_executors_are_of_the_drivers_pod_and_find_it_by_its_address() -> None:
    container, conf = driver(PRODUCTION), config(PRODUCTION)["spark"]["conf"]
    fields = {
        each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in container["env"] if "valueFrom" in each
    }
    told = json.loads(variables(container)["TIDEMARK_SPARK__CONF"])
    assert fields == {"POD_NAME": "metadata.name", "POD_IP": "status.podIP"}
    assert told["spark.kubernetes.driver.pod.name"] == "$(POD_NAME)"
    assert told["spark.driver.host"] == "$(POD_IP)"
    names = [each["name"] for each in container["env"]]
    assert names.index("POD_IP") < names.index("TIDEMARK_SPARK__CONF"), "only earlier variables are filled in"
    assert conf["spark.kubernetes.namespace"] == one(PRODUCTION, "Namespace")["metadata"]["name"]
    ports = {str(each["containerPort"]) for each in container["ports"]}
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
    found = [one(folder, "Deployment")["spec"]["template"]]
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


def test_rules_and_inhibitions_are_those_of_prometheus_and_alertmanager() -> None:
    assert RESOURCE.read_text() == rules(), "run `python -m dev.prometheus_rule`"
    assert INHIBITIONS.read_text() == inhibitions(), "run `python -m dev.prometheus_rule`"


def test_kube_prometheus_stack_selects_what_is_for_it() -> None:
    for kind in ("PodMonitor", "PrometheusRule", "AlertmanagerConfig"):
        assert one(PRODUCTION, kind)["metadata"]["labels"] == {"release": "kube-prometheus-stack"}


def test_inhibitions_are_matchers_with_an_operator_and_a_value() -> None:
    found = one(PRODUCTION, "AlertmanagerConfig")["spec"]["inhibitRules"]
    assert found
    for matcher in (each for rule in found for part in ("sourceMatch", "targetMatch") for each in rule[part]):
        assert matcher.keys() == {"name", "matchType", "value"}
        assert matcher["matchType"] in {"=", "!=", "=~", "!~"}
        assert '"' not in matcher["value"]


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
