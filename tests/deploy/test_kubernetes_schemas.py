"""The Kubernetes manifests are valid by the schemas of Kubernetes and the operators."""

import copy
import json
from pathlib import Path

import kubernetes_validate
import pytest
from kubeflow_spark_api.models import SparkV1beta2SparkApplication

from tests.deploy.rendered import ALL, DEV, one, rendered

pytestmark = pytest.mark.slow

SCHEMAS = "1.34"
OF_PROMETHEUS = {"AlertmanagerConfig", "PodMonitor", "PrometheusRule"}
"""No Python package has their schemas without a client of Kubernetes; `test_kubernetes.py` looks at what they say."""


@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_every_resource_is_valid_by_its_schema(folder: Path) -> None:
    for resource in rendered(folder):
        if resource["kind"] == "SparkApplication":
            application = copy.deepcopy(resource)
            # The model has no numbers for ports, so the template is validated as the pod that it is.
            pod = application["spec"]["driver"].pop("template")
            kubernetes_validate.validate({"apiVersion": "v1", "kind": "Pod", **pod}, SCHEMAS, strict=True)
            model = SparkV1beta2SparkApplication.model_validate(application)
            assert model.to_dict() == application, "the model drops fields that the operator does not know"
        elif resource["kind"] not in OF_PROMETHEUS:
            kubernetes_validate.validate(resource, SCHEMAS, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_found() -> None:
    wrong = json.loads(json.dumps(one(DEV, "Deployment")))
    wrong["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="readynessProbe"):
        kubernetes_validate.validate(wrong, SCHEMAS, strict=True)
