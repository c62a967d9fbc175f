"""The collector on Kubernetes: Helm and kustomize make the same objects, which the alerts and its command line know."""

import json
from argparse import Namespace
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml

from tests.deploy.files import ROOT
from tests.deploy.rendered import FOLDER, Resource, one_of, rendered, rendered_by_helm, variables
from tests.deploy.test_kubernetes_schemas import OF_PROMETHEUS, SCHEMAS
from tidemark.command_line.verbs import Verb
from tidemark.producers.access import access_of
from tidemark.producers.cli import producers

pytestmark = pytest.mark.slow
ON: Resource = {"collector": {"enabled": True, "allowOrigins": ["https://shop.example"]}}
NAME = "tidemark-collect"


def of_collector(values: Resource) -> list[Resource]:
    """Renders the chart; returns what the service alone does not have."""
    without = {(each["kind"], each["metadata"]["name"]) for each in rendered_by_helm({**values, "collector": {}})}
    made = rendered_by_helm(values)
    return [each for each in made if (each["kind"], each["metadata"]["name"]) not in without]


def container_of(resources: Any) -> Resource:
    (container,) = one_of(resources, "Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(container)


def test_helm_and_kustomize_render_the_same_collector() -> None:
    by_helm = of_collector({**ON, "monitoring": {"enabled": True}})
    by_kustomize = rendered(FOLDER / "collector")
    assert {each["kind"] for each in by_helm} == {"Deployment", "Service", "NetworkPolicy", "PodMonitor"}
    for resource in by_helm:
        assert resource == one_of(by_kustomize, resource["kind"])
        if resource["kind"] not in OF_PROMETHEUS:
            kubernetes_validate.validate(resource, SCHEMAS, strict=True)


def test_its_arguments_are_options_of_its_command() -> None:
    values = {**ON, "collector": {**ON["collector"], "arguments": ["--trust-proxy=10.0.0.0/8"]}}
    program, verb, *words = container_of(of_collector(values))["args"]
    command = producers.resolve_command(producers.make_context(program, [verb], resilient_parsing=True), [verb])[1]
    assert isinstance(command, Verb)
    given = command.make_context(verb, words).params
    assert (given["topic"], given["allow_origin"], given["trust_proxy"]) == (
        "user-events",
        ("https://shop.example",),
        ("10.0.0.0/8",),
    )


def test_it_connects_to_kafka_as_the_service_does(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = {
        "security": {"protocol": "SASL_SSL"},
        "sasl": {"mechanism": "PLAIN", "username": "site", "password_file": "/etc/tidemark-tls/password"},
        "tls": {"ca": "/etc/tidemark-tls/ca.crt", "verify": "ca", "key": None},
    }
    for name, value in variables(container_of(of_collector({**ON, "settings": {"kafka": kafka}}))).items():
        monkeypatch.setenv(name, value)
    access = access_of(Namespace())
    assert (access.security.protocol, access.sasl.username, access.tls.verify) == ("SASL_SSL", "site", "ca")
    assert str(access.sasl.password_file) == "/etc/tidemark-tls/password"


def test_a_collector_that_no_page_may_use_is_refused() -> None:
    with pytest.raises(helm_python.HelmError, match=r"collector\.allowOrigins is empty"):
        rendered_by_helm({"collector": {"enabled": True}})


def test_prometheus_has_it_as_the_job_of_its_alerts_and_no_pod_of_the_service() -> None:
    values = {**ON, "monitoring": {"enabled": True}}
    for resources in (of_collector(values), rendered(FOLDER / "collector")):
        labels = one_of(resources, "Deployment")["spec"]["template"]["metadata"]["labels"]
        monitor = one_of(resources, "PodMonitor")["spec"]
        assert labels[monitor["jobLabel"]] == NAME
        (endpoint,) = monitor["podMetricsEndpoints"]
        assert endpoint["port"] in {port["name"] for port in container_of(resources)["ports"]}
        for selector in (
            monitor["selector"]["matchLabels"],
            one_of(resources, "Service")["spec"]["selector"],
            one_of(resources, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        ):
            assert selector == labels
    alerts = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules" / "alerts.yml").read_text())
    assert f'job=\\"{NAME}\\"' in json.dumps(alerts)
