"""Reads schemas from a registry with Confluent's API, through Confluent's client."""

from collections.abc import Iterator
from typing import Any, Final

import structlog

from kafka_access.secrets import clear_text
from pipeline.errors import SetUpError, Unreachable
from pipeline.settings.schema_settings import RegistrySettings
from pipeline.settings.secrets import raising_set_up_errors
from schemas.fields import Guid
from schemas.references import with_types

_TIMEOUT_S: Final = 10
_NOT_FOUND: Final = 404
_INSTALL: Final = (
    "schemas.registry.url needs Confluent's client of a registry: install tidemark-lake[registry], or name a folder "
    "with schemas.folder"
)
_log = structlog.get_logger()


class Registry:
    """Returns schemas by id and subject; every call asks the registry, or raises Unreachable."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Asks nothing yet. Raises SetUpError if the client is not installed or a file cannot be read."""
        self._url = settings.url
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415 - an optional dependency
            from confluent_kafka.schema_registry.error import SchemaRegistryError  # noqa: PLC0415
        except ImportError as error:
            raise SetUpError(_INSTALL) from error
        options = {"url": settings.url, "timeout": _TIMEOUT_S, "max.retries": 1}
        if settings.username is not None:
            with raising_set_up_errors():
                password = clear_text(settings.password, settings.password_file, "schemas.registry.password")
            options["basic.auth.user.info"] = f"{settings.username}:{password}"
        if settings.ca is not None:
            options["ssl.ca.location"] = str(settings.ca)
        self._error = SchemaRegistryError
        try:
            self._client = SchemaRegistryClient(options)
        except ValueError as error:
            raise SetUpError(f"schemas.registry.url = {settings.url!r} is no address of a registry: {error}") from error

    def of_subject(self, subject: str) -> dict[int, str]:
        """Returns schema id -> Avro JSON text of each version of a subject; empty if there is no such subject."""
        versions = self._ask(lambda client: client.get_versions(subject)) or []
        answers = (
            self._ask(lambda client, version=version: client.get_version(subject, version)) for version in versions
        )
        texts = {each.schema_id: self._avro(each.schema_id, each.schema) for each in answers if each}
        return {schema_id: text for schema_id, text in texts.items() if text is not None}

    def schema(self, schema_id: int) -> str | None:
        """Returns the Avro JSON text of a schema; None if it is missing or not Avro."""
        found = self._ask(
            lambda client: (
                client.get_schema_by_guid(str(schema_id))
                if isinstance(schema_id, Guid)
                else client.get_schema(schema_id)
            )
        )
        return self._avro(schema_id, found) if found else None

    def _avro(self, schema_id: int, schema: Any) -> str | None:
        """Returns the text of a schema with the types that it refers to, None with a warning if it is not Avro."""
        if schema.schema_type != "AVRO":
            _log.warning(
                "schema_unusable", id=str(schema_id), reason=f"it is {schema.schema_type}, and only Avro is read"
            )
            return None
        named = list(self._referenced(schema, set()))
        return with_types(str(schema.schema_str), named) if named else str(schema.schema_str)

    def _referenced(self, schema: Any, seen: set[tuple[str, int]]) -> Iterator[str]:
        """Yields the schemas to which a schema refers, each after those to which it refers itself."""
        for reference in schema.references or ():
            version = (str(reference.subject), int(reference.version))
            if version not in seen:
                seen.add(version)
                if found := self._ask(lambda client, version=version: client.get_version(*version)):
                    yield from self._referenced(found.schema, seen)
                    yield str(found.schema.schema_str)

    def _ask(self, question: Any) -> Any:
        """Returns the answer; None if the registry does not have what is asked for. Raises Unreachable."""
        try:
            return question(self._client)
        except self._error as error:
            if error.http_status_code == _NOT_FOUND:
                return None
            reason = f"HTTP {error.http_status_code}: {error.error_message}"
        except Exception as error:  # noqa: BLE001 - its HTTP client may raise anything
            reason = str(error) or type(error).__name__
        raise Unreachable(
            f"cannot read schemas from the registry {self._url}: {reason}. Repair it, or correct schemas.registry.url"
        )
