"""The settings of schemas: where they are, and the meaning of their fields."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, model_validator

from tidemark.kafka_access.addresses import address
from tidemark.pipeline.settings.report_settings import FIELD_NAME, Section
from tidemark.schemas.fields import CLICK, VISIT, EventFields, Format, JsonType, TimeUnit

FieldName = Annotated[str, Field(pattern=f"^{FIELD_NAME}$"), "FIELD"]
KindName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$"), "KIND"]
"""A lower-case name, in which nothing must be quoted in SQL."""
FieldNames = Annotated[
    str,
    BeforeValidator(lambda names: ",".join(map(str, names)) if isinstance(names, list) else names),
    Field(pattern=f"^{FIELD_NAME}(,{FIELD_NAME})*$"),
    "FIELD,...",
]


class MappingSettings(Section):
    """Fields of events with another schema; dots for fields of nested records, such as `customer.id`.

    In JSON a number is the index of an item: `items.0.id`.
    """

    user: FieldNames = "user_id"
    """Field with the user: text or a whole number. Several fields have commas between them, as in
    `userId,anonymousId`: the user is the first that is neither null nor empty."""
    time: FieldName = "event_time"
    """Field with the event time: a number since 1970, or text."""
    time_unit: TimeUnit | None = None
    """Unit of the time: `s`, `ms`, `us`, `ns`, or `iso` for text such as 2026-05-01T12:00:00Z; by default the unit in
    the schema, or `ms` without such a type. In JSON by default numbers are `ms` and texts `iso`."""
    kind: FieldNames | Literal[""] = "event_type"
    """Field with the kind of event: an enum or text. Several fields have commas between them, as in
    `event_name,event_type`: the kind is the first that is neither null nor empty. Empty: every event is a visit."""
    kinds: Annotated[dict[str, KindName], "VALUE=KIND"] = Field(default={VISIT: VISIT, CLICK: CLICK}, max_length=1000)
    """Kinds of events by value of that field: `visit`, `click`, or another name, which is neither a page view nor a
    click."""
    other_kinds: Literal["malformed", "left_out"] = "malformed"
    """Events with any other value: dead letters that are `malformed`, or `left_out` of everything but the ledger; an
    event without a kind is malformed."""
    page: FieldName = "page_url"
    """Field with the page: text."""
    event_id: FieldName = "event_id"
    """Field that identifies an event, for `deduplicate`: text or a whole number."""
    types: Annotated[dict[str, JsonType], "FIELD=number|boolean"] = Field(default={})
    """Types of fields of JSON that conditions name, by field; the others are text."""

    @model_validator(mode="after")
    def _some_event_counts(self) -> Self:
        if self.kind and not self.kinds:
            raise ValueError('kinds is empty, so no event would count: map a value, or set kind = "" if all are visits')
        return self

    def fields(self) -> EventFields:
        """Returns the mapping for the fold."""
        return EventFields(**self.model_dump(exclude={"other_kinds"}))


class RegistrySettings(Section):
    """A schema registry with the interface of Confluent's."""

    url: Annotated[str, address("set username and password_file"), "URL"] = ""
    """Address of the registry, such as `https://registry:8081`; each schema is read at its first record, and cached."""
    subject: str = ""
    """Subject whose versions are read at the start; by default `<topic>-value`."""
    ids: Literal["4_bytes", "auto"] = "4_bytes"
    """Ids that records name their schema by: of four bytes, or `auto` for ids of eight bytes, too, and for Apicurio's
    global ids in headers."""
    username: str | None = None
    """User of the registry; needs a password."""
    password: SecretStr | None = None
    """Password of that user."""
    password_file: Path | None = None
    """File with that password."""
    ca: Path | None = None
    """PEM file of the certificate authorities to trust; by default those of the system."""

    @model_validator(mode="after")
    def _in_pairs(self) -> Self:
        if [self.password, self.password_file].count(None) != (2 if self.username is None else 1):
            raise ValueError("username and one of password and password_file belong together: set both or neither")
        return self


class SchemasSettings(Section):
    """The format of events, and their Avro schemas."""

    format: Format = "avro"
    """Format of the values: `avro` in a registry's frame, or `json`, with or without that frame."""
    folder: Annotated[Path | None, "FOLDER"] = None
    """Folder with the Avro schemas `user_event.avsc`, `user_event.2.avsc`, ...; by default the bundled ones."""
    registry: RegistrySettings = RegistrySettings()
    mapping: MappingSettings = MappingSettings()
    on_change: Literal["stop", "record"] = "stop"
    """If another field or kind than before would be a user, time, kind or page: `stop`, or `record` it and continue."""

    @model_validator(mode="after")
    def _folder_or_registry(self) -> Self:
        if self.folder is not None and self.registry.url:
            raise ValueError("schemas are in a folder or in a registry: set one of the two")
        return self

    @model_validator(mode="after")
    def _fits_format(self) -> Self:
        if self.format == "json" and (self.folder is not None or self.registry.url):
            raise ValueError(
                "format is json, which is read without schemas: leave out schemas.folder and schemas.registry, or set "
                "format to avro"
            )
        if self.format == "avro" and self.mapping.types:
            raise ValueError("mapping.types is for fields of JSON; the types of Avro are in its schemas: leave it out")
        return self
