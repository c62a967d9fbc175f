"""Values of Helm's chart that the schema accepts work."""

import json
import tomllib
from typing import Any

import kubernetes_validate
import pytest
import yaml

from dev.helm_schema import SCHEMA
from pipeline.settings.model import Settings
from tests.deploy.rendered import Resource, one_of, rendered_by_helm
from tests.deploy.test_kubernetes_schemas import OF_PROMETHEUS, SCHEMAS

pytestmark = pytest.mark.slow
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
TLS: Resource = {"metrics": {"certificate": "/etc/tidemark-tls/tls.crt", "key": "/etc/tidemark-tls/tls.key"}}
ANY_ID: Resource = {"runAsUser": None, "runAsGroup": None, "fsGroup": None}
CHOSEN: Resource = {"warehouse": "s3://b/clicks", "metrics": {"host": "0.0.0.0", "port": 9500}}  # noqa: S104 - of a pod
"""Settings for which not every value of the schema's type works."""


def valid(values: Resource) -> list[Resource]:
    """Renders the chart, and validates the resources by the schemas of Kubernetes."""
    resources = rendered_by_helm(values)
    for resource in resources:
        if resource["kind"] not in OF_PROMETHEUS:
            kubernetes_validate.validate(resource, SCHEMAS, strict=True)
    return resources


def pod(resources: list[Resource]) -> Resource:
    return dict(one_of(resources, "Deployment")["spec"]["template"]["spec"])


def endpoint(values: Resource) -> Resource:
    """Returns how Prometheus scrapes the pod."""
    (found,) = one_of(valid({"monitoring": {"enabled": True}, **values}), "PodMonitor")["spec"]["podMetricsEndpoints"]
    return dict(found)


def settings(resources: list[Resource]) -> Resource:
    return tomllib.loads(one_of(resources, "ConfigMap")["data"]["tidemark.toml"])


def test_probes_use_tls_exactly_if_the_endpoint_has_a_certificate() -> None:
    for given, scheme in (({}, None), (TLS, "HTTPS")):
        (container,) = pod(valid({"settings": given}))["containers"]
        assert [container[probe]["httpGet"].get("scheme") for probe in PROBES] == [scheme] * 3


def test_prometheus_uses_tls_and_the_verification_of_the_values() -> None:
    plain = endpoint({})
    assert plain == {"port": "metrics", "interval": "15s"}
    assert endpoint({"settings": TLS}) == {**plain, "scheme": "https", "tlsConfig": {"insecureSkipVerify": True}}
    verified = {"serverName": "tidemark", "ca": {"secret": {"name": "tidemark-tls", "key": "ca.crt"}}}
    scraped = endpoint({"settings": TLS, "monitoring": {"enabled": True, "tlsConfig": verified}})
    assert scraped["tlsConfig"] == verified


def test_prometheus_has_the_user_of_the_settings_and_the_password_of_the_secret() -> None:
    values = {"settings": {"metrics": {"username": "reader"}}, "secretName": "own", "monitoring": {"enabled": True}}
    assert endpoint(values)["basicAuth"] == {
        "username": {"name": "tidemark-metrics", "key": "username"},
        "password": {"name": "own", "key": "TIDEMARK_METRICS__PASSWORD"},
    }
    secret = one_of(valid(values), "Secret")
    assert (secret["metadata"]["name"], secret["stringData"]) == ("tidemark-metrics", {"username": "reader"})


def test_the_host_of_the_settings_replaces_that_of_the_image() -> None:
    (container,) = pod(valid({"settings": {"metrics": {"host": "::"}}}))["containers"]
    assert {"name": "TIDEMARK_METRICS__HOST", "value": "::"} in container["env"]


def test_schemas_of_a_config_map_are_the_folder_of_the_settings() -> None:
    resources = valid({"schemasConfigMap": "clicks-schemas"})
    volumes, (container,) = pod(resources)["volumes"], pod(resources)["containers"]
    assert {"name": "schemas", "configMap": {"name": "clicks-schemas"}} in volumes
    (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "schemas"]
    assert mount["readOnly"]
    assert settings(resources)["schemas"]["folder"] == mount["mountPath"]


def test_the_ids_of_driver_and_executors_can_be_left_to_the_cluster() -> None:
    resources = valid({"podSecurityContext": ANY_ID, "executors": {"enabled": True}})
    executor = yaml.safe_load(one_of(resources, "ConfigMap")["data"]["executor.yaml"])
    expected = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert pod(resources)["securityContext"] == executor["spec"]["securityContext"] == expected


def sample(schema: Resource, definitions: Resource) -> Any:
    """Returns a value of `schema`: an object has all of its properties, and a choice is the first that is possible."""
    if "$ref" in schema:
        return sample(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], definitions)
    if "properties" in schema:
        return {name: sample(part, definitions) for name, part in schema["properties"].items()}
    if schema["type"] == "object":
        return {"page_views": sample(schema["additionalProperties"], definitions)}
    return [sample(schema["items"], definitions)] if schema["type"] == "array" else scalar(schema)


def scalar(schema: Resource) -> Any:
    if "enum" in schema or "const" in schema:
        return schema.get("const") or schema["enum"][-1]
    text, count = "a.b" if "pattern" in schema else 'a"b', min(1_000_000, schema.get("maximum", 1_000_000))
    return {"string": text, "integer": count, "boolean": True, "number": 0.25}[schema["type"]]


def test_every_setting_of_the_schema_reaches_the_service_as_it_was_given() -> None:
    schema = json.loads(SCHEMA.read_text())
    given = sample(schema["properties"]["settings"], schema["$defs"])
    del given["schemas"]["folder"]
    assert given.keys() == Settings.model_fields.keys()
    given = {**given, **CHOSEN, "metrics": {**given["metrics"], **CHOSEN["metrics"]}}
    assert settings(valid({"settings": given})) == given
