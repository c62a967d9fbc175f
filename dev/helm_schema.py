"""Writes the schema of Helm's values from the settings of the service: `make pages`."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from tidemark.pipeline.settings.model import Settings

CHART: Final = Path(__file__).parents[1] / "deploy" / "helm" / "tidemark"
SCHEMA: Final = CHART / "values.schema.json"
_TEXT: Final = {"type": "string"}
_OBJECT: Final = {"type": "object"}
_COUNT: Final = {"type": "integer", "minimum": 1}
_FLAG: Final = {"type": "boolean"}
_PORTS: Final = {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 65535}}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_LIST: Final = {"type": "array", "items": _OBJECT}
_DROPPED: Final = {"default", "format", "title"}
"""Not for Helm: its defaults are those of the service, and a duration is `5m`, not `PT5M`."""


def _group(**properties: Any) -> dict[str, Any]:
    """Returns the schema of an object that has no other properties."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


_RESOURCES: Final = _group(requests=_OBJECT, limits={"type": "object", "required": ["cpu", "memory"]})
_COLLECTOR: Final = _group(
    enabled=_FLAG,
    replicas=_COUNT,
    allowOrigins=_TEXTS,
    arguments=_TEXTS,
    secretName=_TEXT,
    resources=_RESOURCES,
)
_NETWORK: Final = _group(
    enabled=_FLAG,
    dnsPorts=_PORTS,
    kafkaPorts=_PORTS,
    registryPorts=_PORTS,
    httpsPorts=_PORTS,
    extraEgress=_LIST,
)


def _is_secret(schema: Any) -> bool:
    return any(choice.get("writeOnly") for choice in [schema, *schema.get("anyOf", [])])


def _without_secrets(schema: Any) -> Any:
    """Returns a schema without the properties that only a secret may hold, and without what Helm does not need."""
    if isinstance(schema, list):
        return [_without_secrets(choice) for choice in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: value for name, value in schema.items() if name not in _DROPPED or isinstance(value, dict)}
    if isinstance(properties := schema.get("properties"), dict):
        kept["properties"] = {name: value for name, value in properties.items() if not _is_secret(value)}
    return {name: _without_secrets(value) for name, value in kept.items()}


def _settings() -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the schema of the settings, and the definitions to which it refers."""
    schema = _without_secrets(Settings.model_json_schema())
    return schema, schema.pop("$defs")


def text() -> str:
    """Returns the schema of all values."""
    settings, definitions = _settings()
    values = _group(
        image=_group(repository=_TEXT, tag=_TEXT, digest={"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}),
        imagePullSecrets=_LIST,
        settings=settings,
        secretName=_TEXT,
        tlsSecretName=_TEXT,
        schemasConfigMap=_TEXT,
        serviceAccount=_group(annotations=_OBJECT),
        podSecurityContext=_OBJECT,
        storage=_group(enabled=_FLAG, size=_TEXT, className=_TEXT, existingClaim=_TEXT),
        resources=_RESOURCES,
        executors=_group(enabled=_FLAG, instances=_COUNT, cores=_COUNT, memory=_TEXT),
        collector=_COLLECTOR,
        deadNodeSeconds=_COUNT,
        terminationGracePeriodSeconds=_COUNT,
        nodeSelector=_OBJECT,
        affinity=_OBJECT,
        tolerations=_LIST,
        podAnnotations=_OBJECT,
        networkPolicy=_NETWORK,
        monitoring=_group(enabled=_FLAG, labels=_OBJECT, interval=_TEXT, tlsConfig=_OBJECT),
    )
    # Helm adds the values of a parent chart.
    values["properties"]["global"] = _OBJECT
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions}
    return json.dumps({**head, **values}, indent=2) + "\n"


def main() -> None:
    """Replaces the schema in the repository."""
    SCHEMA.write_text(text())
    sys.stdout.write(f"wrote {SCHEMA.name}\n")


if __name__ == "__main__":
    main()
