"""Helm's chart renders the objects of kustomize's overlays, and its schema has every setting."""

import json
import re
import tomllib
from collections.abc import Iterable
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml

from tests.deploy.files import SERVICE
from tests.deploy.rendered import CHART, DEV, PRODUCTION, Resource, one_of, rendered, rendered_by_helm
from tests.deploy.test_kubernetes_schemas import OF_PROMETHEUS, SCHEMAS
from tests.support.yaml_text import parsed
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.slow
PRODUCTION_VALUES: Resource = yaml.safe_load((CHART / "ci" / "production.yaml").read_text())
OTHER: Resource = {
    "settings": {"metrics": {"port": 9500}, "batch": {"max_records": 1_000_000}, "time": {"bound": "30s"}},
    "image": {"repository": "registry.example/tidemark", "digest": f"sha256:{64 * 'a'}"},
    "imagePullSecrets": [{"name": "registry"}],
    "executors": {"enabled": True, "instances": 3, "cores": 4},
    "networkPolicy": {"dnsPorts": [53, 5353], "kafkaPorts": [9094], "extraEgress": [{"ports": [{"port": 4317}]}]},
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
    "storage": {"existingClaim": "state-tidemark-0"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "nodeSelector": {"disk": "ssd"},
    "podAnnotations": {"team": "clicks"},
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/tidemark"}},
}
"""Values unlike the defaults."""


def comparable(resources: Iterable[Resource]) -> dict[tuple[str, str], Resource]:
    """Returns the resources by kind and name, without what only one of the tools adds.

    Kustomize creates the namespace, which `helm install --create-namespace` does otherwise; where kustomize puts a hash
    into the name of the file of settings, Helm puts it into an annotation.
    """
    found = {}
    for resource in resources:
        if resource["kind"] == "Namespace":
            continue
        dumped = re.sub(r"\btidemark-[a-z0-9]{10}(?=\W)", "tidemark", json.dumps(resource))
        copy = json.loads(dumped)
        copy["metadata"].pop("annotations", None)
        if copy["kind"] == "Deployment":
            pod = copy["spec"]["template"]
            pod["metadata"].pop("annotations", None)
            pod["spec"]["volumes"].sort(key=lambda volume: volume["name"])
        if copy["kind"] == "ConfigMap":
            copy["data"]["tidemark.toml"] = tomllib.loads(copy["data"]["tidemark.toml"])
            if "executor.yaml" in copy["data"]:
                copy["data"]["executor.yaml"] = yaml.safe_load(copy["data"]["executor.yaml"])
        found[copy["kind"], copy["metadata"]["name"]] = copy
    return found


@pytest.mark.parametrize(
    ("folder", "values", "namespace"),
    [(DEV, {}, "tidemark-dev"), (PRODUCTION, PRODUCTION_VALUES, "tidemark")],
    ids=["dev", "production"],
)
def test_helm_and_kustomize_render_the_same_objects(folder: Any, values: Resource, namespace: str) -> None:
    by_helm = comparable(rendered_by_helm(values, namespace=namespace))
    by_kustomize = comparable(rendered(folder))
    assert by_helm.keys() == by_kustomize.keys()
    for name, resource in by_helm.items():
        assert resource == by_kustomize[name], name


@pytest.mark.parametrize("values", [{}, PRODUCTION_VALUES, OTHER], ids=["defaults", "production", "other"])
def test_every_resource_is_valid_by_the_schemas_of_kubernetes(values: Resource) -> None:
    for resource in rendered_by_helm(values):
        if resource["kind"] not in OF_PROMETHEUS:
            kubernetes_validate.validate(resource, SCHEMAS, strict=True)


def test_values_reach_the_objects() -> None:
    resources = rendered_by_helm(OTHER, release="clicks", namespace="data")
    assert {resource["metadata"]["name"] for resource in resources} == {"clicks", "clicks-executors"}
    assert {resource["metadata"]["namespace"] for resource in resources} == {"data"}
    assert "PersistentVolumeClaim" not in {resource["kind"] for resource in resources}
    pod = one_of(resources, "Deployment")["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert pod["metadata"]["annotations"]["team"] == "clicks"
    assert pod["spec"]["tolerations"][-1] == {"key": "dedicated", "operator": "Exists"}
    assert {"name": "state", "persistentVolumeClaim": {"claimName": "state-tidemark-0"}} in pod["spec"]["volumes"]
    assert container["image"] == f"registry.example/tidemark@{OTHER['image']['digest']}"
    assert container["ports"][0] == {"name": "metrics", "containerPort": 9500}
    policy = one_of(resources, "NetworkPolicy")["spec"]
    assert policy["ingress"][0] == {"ports": [{"port": 9500}]}
    assert {"port": 5353, "protocol": "UDP"} in policy["egress"][0]["ports"]
    assert [each["port"] for each in policy["egress"][1]["ports"]] == [9094, 8081, 443, 6443]
    assert policy["egress"][-1] == {"ports": [{"port": 4317}]}
    for kind in OF_PROMETHEUS:
        assert one_of(resources, kind)["metadata"]["labels"] == {"release": "prometheus"}


def test_the_service_reads_the_settings_as_they_were_given() -> None:
    data = one_of(rendered_by_helm(OTHER), "ConfigMap")["data"]
    settings = Settings.model_validate(tomllib.loads(data["tidemark.toml"]))
    assert (settings.metrics.port, settings.batch.max_records) == (9500, 1_000_000)
    assert settings.spark.conf["spark.sql.shuffle.partitions"] == "12"


def test_a_property_of_spark_in_the_values_has_precedence() -> None:
    own = {"spark": {"conf": {"spark.executor.memory": "4g"}}}
    values = {**PRODUCTION_VALUES, "settings": {**PRODUCTION_VALUES["settings"], **own}}
    told = tomllib.loads(one_of(rendered_by_helm(values), "ConfigMap")["data"]["tidemark.toml"])["spark"]["conf"]
    assert (told["spark.executor.memory"], told["spark.executor.instances"]) == ("4g", "2")


def test_a_changed_setting_starts_the_service_again() -> None:
    def checksum(values: Resource) -> str:
        annotations = one_of(rendered_by_helm(values), "Deployment")["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["checksum/config"])

    assert checksum({}) == checksum({})
    assert checksum({}) != checksum({"settings": {"time": {"bound": "30s"}}})


@pytest.mark.parametrize(
    "wrong",
    [
        {"setings": {}},
        {"settings": {"kafka": {"topik": "t"}}},
        {"settings": {"kafka": {"sasl": {"password": "secret"}}}},
        {"settings": {"metrics": {"port": "high"}}},
        {"resources": {"limits": {"cpu": None}}},
        {"image": {"digest": "latest"}},
        {"networkPolicy": {"kafkaPorts": ["kafka"]}},
    ],
    ids=json.dumps,
)
def test_a_wrong_value_is_refused(wrong: Resource) -> None:
    with pytest.raises(helm_python.HelmValuesError):
        rendered_by_helm(wrong)


def test_the_linter_has_nothing_to_say_but_that_there_is_no_icon() -> None:
    findings = helm_python.lint(str(CHART))["messages"]
    assert [finding["error"] for finding in findings] == ["icon is recommended"]


def test_chart_and_image_have_the_version_of_the_project() -> None:
    chart = parsed((CHART / "Chart.yaml").read_text())
    assert f"tidemark:{chart['appVersion']}" == f"tidemark:{chart['version']}" == SERVICE
