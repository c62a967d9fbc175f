"""The Kubernetes manifests are valid by the schemas of Kubernetes and the operators."""

import json
from pathlib import Path

import kubernetes_validate
import pytest
from kubeflow_spark_api.models import SparkV1beta2SparkApplication

from tests.deploy.rendered import ALL, DEV, one, rendered

pytestmark = pytest.mark.slow

SCHEMAS = "1.34"
OF_PROMETHEUS = {"PodMonitor", "PrometheusRule"}
"""No Python package has their schemas without a client of Kubernetes; `test_kubernetes.py` looks at what they say."""


@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_every_resource_is_valid_by_its_schema(folder: Path) -> None:
    for resource in rendered(folder):
        if resource["kind"] == "SparkApplication":
            told = SparkV1beta2SparkApplication.model_validate(resource)
            assert told.to_dict() == resource, "a field that the operator does not know is passed over"
        elif resource["kind"] not in OF_PROMETHEUS:
            kubernetes_validate.validate(resource, SCHEMAS, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_found() -> None:
    wrong = json.loads(json.dumps(one(DEV, "StatefulSet")))
    wrong["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="readynessProbe"):
        kubernetes_validate.validate(wrong, SCHEMAS, strict=True)
