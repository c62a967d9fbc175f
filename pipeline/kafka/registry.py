"""A registry of schemas that speaks as Confluent's does, asked by Confluent's client."""

from typing import Any, Final

from kafka_access.secrets import clear_text
from pipeline.errors import SetUpError, Unreachable
from pipeline.settings.schema_settings import RegistrySettings
from pipeline.settings.secrets import raising_set_up_errors

_TIMEOUT_S: Final = 10
_NOT_FOUND: Final = 404
_INSTALL: Final = (
    "schemas.registry.url needs Confluent's client of a registry: install tidemark-lake[registry], or name a folder "
    "with schemas.folder"
)


class Registry:
    """Tells schemas by their ids and subjects; every call asks the registry, or raises Unreachable."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Asks nothing yet. Raises SetUpError where the client is not installed or a file cannot be read."""
        self._url = settings.url
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415 - it comes with an extra
            from confluent_kafka.schema_registry.error import SchemaRegistryError  # noqa: PLC0415
        except ImportError as error:
            raise SetUpError(_INSTALL) from error
        told = {"url": settings.url, "timeout": _TIMEOUT_S, "max.retries": 1}
        if settings.username is not None:
            with raising_set_up_errors():
                password = clear_text(settings.password, settings.password_file, "schemas.registry.password")
            told["basic.auth.user.info"] = f"{settings.username}:{password}"
        if settings.ca is not None:
            told["ssl.ca.location"] = str(settings.ca)
        self._refused = SchemaRegistryError
        self._client = SchemaRegistryClient(told)

    def of_subject(self, subject: str) -> dict[int, str]:
        """Schema id -> Avro JSON text of each version of a subject; nothing where there is no such subject."""
        versions = self._ask(lambda client: client.get_versions(subject)) or []
        found = (self._ask(lambda client, one=one: client.get_version(subject, one)) for one in versions)
        return {one.schema_id: one.schema.schema_str for one in found if one and _is_plain_avro(one.schema)}

    def schema(self, number: int) -> str | None:
        """Avro JSON text of a schema id; None where there is none, or it is not Avro that stands by itself."""
        found = self._ask(lambda client: client.get_schema(number))
        return found.schema_str if found and _is_plain_avro(found) else None

    def _ask(self, question: Any) -> Any:
        """The answer; None where what was asked for is not there."""
        try:
            return question(self._client)
        except self._refused as error:
            if error.http_status_code == _NOT_FOUND:
                return None
            reason = f"it said {error.http_status_code}: {error.error_message}"
        except Exception as error:  # noqa: BLE001 - whatever its HTTP client raises, there was no answer
            reason = str(error) or type(error).__name__
        raise Unreachable(f"the registry {self._url} tells no schema: {reason}. See to it, or correct its url")


def _is_plain_avro(schema: Any) -> bool:
    return schema.schema_type == "AVRO" and not schema.references
