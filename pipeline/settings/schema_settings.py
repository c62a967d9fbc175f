"""The settings of schemas: where they are, and which of their fields are what."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from pipeline.settings.report_settings import Section
from schemas.fields import CLICK, VISIT, EventFields, TimeUnit

FieldName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$"), "FIELD"]


class MappingSettings(Section):
    """Which fields are what, for events of another schema; one within a record with dots, such as `customer.id`."""

    user: FieldName = "user_id"
    """Who acted: text or a whole number."""
    time: FieldName = "event_time"
    """When: a number since 1970, or text."""
    time_unit: TimeUnit | None = None
    """Of the time: `s`, `ms`, `us`, `ns`, or `iso` for text such as 2026-05-01T12:00:00Z; by default what the schema
    says, and `ms` where it says nothing."""
    kind: FieldName | Literal[""] = "event_type"
    """What was done: an enum or text. Empty: every event is a visit."""
    kinds: Annotated[dict[str, Literal["visit", "click"]], "VALUE=visit|click"] = Field(
        default={VISIT: VISIT, CLICK: CLICK}
    )
    """What the values of the kind stand for; an event of any other is malformed."""
    page: FieldName = "page_url"
    """Where: text."""
    event_id: FieldName = "event_id"
    """What makes an event one, for `deduplicate`: text or a whole number."""

    def fields(self) -> EventFields:
        """The same for the fold."""
        return EventFields(**self.model_dump())


class RegistrySettings(Section):
    """A registry of schemas that speaks as Confluent's does."""

    url: Annotated[str, "URL"] = ""
    """Its address, such as `https://registry:8081`; each schema is asked for when its first record comes, and kept."""
    subject: str = ""
    """The subject of whose versions a start asks; by default the topic's values, `<topic>-value`."""
    username: str | None = None
    """With it and its password it is asked by that user."""
    password: SecretStr | None = None
    """The password that goes with the name."""
    password_file: Path | None = None
    """A file with that password."""
    ca: Path | None = None
    """PEM file of the authorities that may have signed its certificate; by default those of the system."""

    @model_validator(mode="after")
    def _in_pairs(self) -> Self:
        if [self.password, self.password_file].count(None) != (2 if self.username is None else 1):
            raise ValueError("username and one of password and password_file belong together: set both or neither")
        return self


class SchemasSettings(Section):
    """The Avro schemas of events."""

    folder: Annotated[Path | None, "FOLDER"] = None
    """Folder with the Avro schemas `user_event.avsc`, `user_event.2.avsc`, ...; by default the packaged ones."""
    registry: RegistrySettings = RegistrySettings()
    mapping: MappingSettings = MappingSettings()

    @model_validator(mode="after")
    def _in_one_place(self) -> Self:
        if self.folder is not None and self.registry.url:
            raise ValueError("schemas are in a folder or in a registry: set one of the two")
        return self
