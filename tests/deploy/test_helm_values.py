"""Values of Helm's chart that the schema accepts work, or are refused by a sentence."""

import json
import re
import tomllib
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml

from dev.helm_schema import SCHEMA
from tests.deploy.rendered import Resource, one_of, rendered_by_helm
from tests.deploy.test_kubernetes_schemas import OF_PROMETHEUS, SCHEMAS
from tidemark.pipeline.settings.model import Settings

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


@pytest.mark.parametrize(
    ("warehouse", "storage"),
    [
        ("s3://tidemark/warehouse", False),
        ("abfss://tables@account.dfs.core.windows.net/clicks", False),
        ("/var/lib/tidemark/clicks", True),
        ("file:///var/lib/tidemark/clicks", True),
        ("clicks", True),  # in the image's working directory, /var/lib/tidemark
    ],
)
def test_a_warehouse_that_outlives_the_pod_is_accepted(warehouse: str, storage: bool) -> None:
    resources = valid({"settings": {"warehouse": warehouse}, "storage": {"enabled": storage}})
    assert settings(resources)["warehouse"] == warehouse


@pytest.mark.parametrize("memory", ["1g", "1024m", "2G", "1gb"])
def test_memory_in_the_format_of_spark_is_accepted(memory: str) -> None:
    resources = valid({"executors": {"enabled": True, "memory": memory}})
    assert settings(resources)["spark"]["conf"]["spark.executor.memory"] == memory


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"settings": {"metrics": {"port": 0}}}, "settings.metrics.port is 0, .*: set it to a fixed port"),
        ({"settings": {"metrics": {"port": 7078}}}, "settings.metrics.port is 7078, .*: set it to another port"),
        ({"settings": {"metrics": {"port": 7079}}}, "settings.metrics.port is 7079, .*: set it to another port"),
        ({"settings": {"metrics": {"host": "127.0.0.1"}}}, 'settings.metrics.host is "127.0.0.1", .*: leave it out'),
        (
            {
                "settings": {"metrics": {"username": "u", "password_file": "/etc/tidemark-tls/password"}},
                "monitoring": {"enabled": True},
            },
            "settings.metrics.password_file .*: put the password into the variable TIDEMARK_METRICS__PASSWORD",
        ),
        ({"executors": {"enabled": True, "memory": "1Gi"}}, 'executors.memory is "1Gi", .*: .* such as 1g'),
        ({"executors": {"enabled": True, "memory": "1.5g"}}, 'executors.memory is "1.5g", .*: .* such as 1g'),
        ({"storage": {"enabled": False}}, "settings.warehouse is .*: set storage.enabled to true"),
        ({"settings": {"warehouse": "/data/clicks"}}, "settings.warehouse is .*: set .* folder in /var/lib/tidemark"),
        (
            {"settings": {"warehouse": "file:/var/lib/tidemark/clicks"}, "storage": {"enabled": False}},
            "settings.warehouse is .*: set storage.enabled to true",
        ),
        ({"settings": {"schemas": {"folder": "/schemas"}}}, "settings.schemas.folder .*: set schemasConfigMap"),
    ],
    ids=json.dumps,
)
def test_a_value_that_cannot_work_is_refused_by_a_sentence(values: Resource, sentence: str) -> None:
    with pytest.raises(helm_python.HelmError, match=sentence):
        rendered_by_helm(values)


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
    text = next(text for text in ('a"b', "a.b", "a") if re.search(schema.get("pattern", ""), text))
    count = min(1_000_000, schema.get("maximum", 1_000_000))
    return {"string": text, "integer": count, "boolean": True, "number": 0.25}[schema["type"]]


def test_every_setting_of_the_schema_reaches_the_service_as_it_was_given() -> None:
    schema = json.loads(SCHEMA.read_text())
    given = sample(schema["properties"]["settings"], schema["$defs"])
    del given["schemas"]["folder"]
    assert given.keys() == Settings.model_fields.keys()
    given = {**given, **CHOSEN, "metrics": {**given["metrics"], **CHOSEN["metrics"]}}
    assert settings(valid({"settings": given})) == given
