"""Reads schemas from a registry with Confluent's API; reads every answer of it."""

import base64
import http.client
import re
import ssl
import urllib.request
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit

import structlog
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from tidemark.kafka_access.secrets import clear_text
from tidemark.pipeline.errors import SetUpError, Unreachable
from tidemark.pipeline.settings.schema_settings import RegistrySettings
from tidemark.pipeline.settings.secrets import raising_set_up_errors
from tidemark.schemas.fields import Guid
from tidemark.schemas.references import with_types

_TIMEOUT_S: Final = 10
_NOT_FOUND: Final = 404
_NOT_OF_THE_ID: Final = frozenset({401, 407, 408, 425, 429})
"""These statuses, and those from 500, concern the client or the moment, and not the schema that was requested."""
_SERVER_ERROR: Final = 500
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"
_CONTEXT: Final = re.compile(r":\.[^:]*:")
"""The start of a subject in a context of the registry; each context has its own ids and subjects."""
_T = TypeVar("_T")
_log = structlog.get_logger()


class Unusable(NamedTuple):
    """An answer that is no Avro schema; the same request would have the same answer."""

    reason: str


class _Reference(BaseModel):
    subject: str
    version: int


class _Schema(BaseModel):
    """The part of an answer that is read; the rest, such as the metadata of a data contract, may be anything."""

    text: str = Field(alias="schema")
    type: str | None = Field(default=None, alias="schemaType")
    references: list[_Reference] | None = None
    id: int | None = Field(default=None, ge=0, lt=2**32)


class _Error(BaseModel):
    message: str


class _RefusedError(Exception):
    """The registry answered without a schema that can be read; the message is the reason."""


_SCHEMA: Final = TypeAdapter(_Schema)
_VERSIONS: Final = TypeAdapter(list[int])


class Registry:
    """Returns schemas by id and subject; every call asks the registry, or raises Unreachable."""

    def __init__(self, settings: RegistrySettings, subject: str) -> None:
        """`subject` has the topic's schemas. Asks nothing yet. Raises SetUpError if a setting cannot be used."""
        self.subject = subject
        self._url = settings.url
        self._bases = [_base(url.strip()) for url in settings.url.split(",")]
        try:
            tls = ssl.create_default_context(cafile=settings.ca)
        except OSError as error:
            raise SetUpError(f"schemas.registry.ca = '{settings.ca}' has no certificate: {error}") from error
        self._opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=tls))
        self._user: str | None = None
        if settings.username is not None:
            with raising_set_up_errors():
                password = clear_text(settings.password, settings.password_file, "schemas.registry.password")
            self._user = f"{settings.username}:{password}"

    def of_subject(self) -> dict[int, str | Unusable]:
        """Returns the versions of the subject by schema id; empty if there is no such subject."""
        path = f"/subjects/{quote(self.subject, safe='')}/versions"
        try:
            versions = self._get(_VERSIONS, path) or []
        except _RefusedError as error:
            raise self._unreachable(error) from error
        schemas: dict[int, str | Unusable] = {}
        for version in versions:
            try:
                schema = self._get(_SCHEMA, f"{path}/{version}")
            except _RefusedError as error:
                _log.warning("schema_unusable", subject=self.subject, version=version, reason=str(error))
            else:
                if schema is not None and schema.id is not None:
                    schemas[schema.id] = self._avro(schema)
        return schemas

    def schema(self, schema_id: int) -> str | Unusable | None:
        """Returns the Avro JSON text of a schema; None if the registry does not have it."""
        try:
            if isinstance(schema_id, Guid):
                schema = self._get(_SCHEMA, f"/schemas/guids/{schema_id}")
            else:
                schema = self._get(_SCHEMA, f"/schemas/ids/{schema_id}?{urlencode({'subject': self.subject})}")
        except _RefusedError as error:
            return Unusable(str(error))
        return None if schema is None else self._avro(schema)

    def _avro(self, schema: _Schema) -> str | Unusable:
        """Returns the text of a schema with the types that it refers to."""
        if schema.type not in (None, "AVRO"):
            return Unusable(f"it is {schema.type}, and only Avro is read")
        try:
            named = list(self._referenced(schema, self.subject, set()))
            return with_types(schema.text, named) if named else schema.text
        except (_RefusedError, ValueError, RecursionError) as error:
            return Unusable(f"a type that it refers to cannot be read: {error}")

    def _referenced(self, schema: _Schema, of_subject: str, seen: set[str]) -> Iterator[str]:
        """Yields the schemas to which a schema refers, each after those to which it refers itself."""
        for reference in schema.references or ():
            subject = _in_context_of(of_subject, reference.subject)
            path = f"/subjects/{quote(subject, safe='')}/versions/{reference.version}"
            if path not in seen:
                seen.add(path)
                if found := self._get(_SCHEMA, path):
                    yield from self._referenced(found, subject, seen)
                    yield found.text

    def _get(self, kind: TypeAdapter[_T], path: str) -> _T | None:
        """Returns an answer; None if the registry does not have what is asked for.

        Raises Unreachable if a later request may succeed, or _RefusedError.
        """
        body = self._body(path)
        try:
            return None if body is None else kind.validate_json(body)
        except ValidationError as error:
            reasons = (".".join([*map(str, each["loc"]), each["msg"]]) for each in error.errors(include_input=False))
            raise _RefusedError(f"the registry's answer cannot be read: {'; '.join(reasons)}") from error

    def _body(self, path: str) -> bytes | None:
        """Returns the bytes of an answer of the first address that answers."""
        failures: list[Unreachable] = []
        for base in self._bases:
            request = urllib.request.Request(base + path, headers={"Accept": _ACCEPT})  # noqa: S310 - see _base
            if self._user:
                request.add_header("Authorization", f"Basic {base64.b64encode(self._user.encode()).decode()}")
            try:
                with self._opener.open(request, timeout=_TIMEOUT_S) as response:
                    return bytes(response.read())
            except HTTPError as error:
                if error.code == _NOT_FOUND:
                    return None
                reason = _reason(error)
                if error.code < _SERVER_ERROR and error.code not in _NOT_OF_THE_ID:
                    raise _RefusedError(f"the registry answers {reason}") from error
                failures.append(self._unreachable(reason))
            except (OSError, http.client.HTTPException, UnicodeError) as error:
                failures.append(self._unreachable(str(error) or type(error).__name__))
        raise failures[0]

    def _unreachable(self, reason: object) -> Unreachable:
        return Unreachable(
            f"cannot read schemas from the registry {self._url}: {reason}. Repair it, or correct schemas.registry.url"
        )


def _base(url: str) -> str:
    """Returns the start of all addresses. Raises SetUpError if it is not that of a registry."""
    if not url.startswith(("http://", "https://")):
        raise SetUpError(f"schemas.registry.url = {url!r} is no address of a registry: it needs http:// or https://")
    try:
        return urlsplit(url).geturl().rstrip("/")
    except ValueError as error:
        raise SetUpError(f"schemas.registry.url = {url!r} is no address of a registry: {error}") from error


def _in_context_of(parent: str, subject: str) -> str:
    """Returns a subject to which a schema of the subject `parent` refers, with its context."""
    context = _CONTEXT.match(parent)
    return subject if context is None or _CONTEXT.match(subject) else context[0] + subject


def _reason(error: HTTPError) -> str:
    """Returns the status and the registry's message, if the answer has one."""
    try:
        return f"HTTP {error.code}: {_Error.model_validate_json(error.read()).message}"
    except (ValidationError, OSError, http.client.HTTPException):
        return f"HTTP {error.code}: {error.reason}"
