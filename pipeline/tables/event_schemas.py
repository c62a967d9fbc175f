"""The schemas of events: those of a folder, or of a registry, stored so that each is requested once."""

from collections.abc import Mapping

import pyarrow as pa
from deltalake import DeltaTable

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import EVENT_SCHEMAS, find_table
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import (
    CONTENT_ID_HEADER,
    GLOBAL_ID_HEADER,
    GUID_HEADER,
    ID_HEADERS,
    EventSchemas,
    Guid,
    schema_id_of,
)


def schemas_of(settings: Settings) -> EventSchemas:
    """Returns the schemas of the configured folder, or those that the warehouse stores; JSON has no schema.

    Raises SetUpError.
    """
    fields, registry = settings.schemas.mapping.fields(), settings.schemas.registry
    if settings.schemas.format == "json":
        return EventSchemas({}, fields, format="json")
    if registry.url:
        has_long_ids = registry.ids == "auto"
        # A registry of Apicurio knows records either by global id or by content id.
        id_headers = [GUID_HEADER, GLOBAL_ID_HEADER if has_long_ids else CONTENT_ID_HEADER]
        return EventSchemas(stored_schemas(settings.warehouse), fields, has_long_ids, id_headers=id_headers)
    try:
        texts = load_schemas(settings.schemas.folder)
    except ValueError as error:
        raise SetUpError(str(error)) from error
    if settings.schemas.folder is None:
        return EventSchemas(texts, fields)
    has_guids = any(isinstance(schema_id, Guid) for schema_id in texts)
    id_headers = [name for name in ID_HEADERS if has_guids or name != GUID_HEADER]
    return EventSchemas(texts, fields, has_long_ids=True, id_headers=id_headers)


def stored_schemas(warehouse: str) -> dict[int, str]:
    """Returns Avro JSON texts by schema id. Raises Unreachable if the store does not respond."""
    table = find_table(EVENT_SCHEMAS.name, warehouse)
    return {} if table is None else _texts_by_id(table)


def store_schemas(warehouse: str, texts: Mapping[int, str]) -> None:
    """Stores the schemas, Avro JSON texts by schema id, that the table does not have yet."""
    handle = Handle.of(EVENT_SCHEMAS, warehouse)
    while new := sorted(texts.keys() - _texts_by_id(handle.table).keys()):
        names = [str(schema_id) for schema_id in new]
        rows = pa.table([names, [texts[schema_id] for schema_id in new]], schema=EVENT_SCHEMAS.schema)
        if handle.swap(rows, by=None):
            return


def _texts_by_id(table: DeltaTable) -> dict[int, str]:
    texts = {schema_id_of(row["schema_id"]): row["avro"] for row in rows_of("SELECT * FROM schemas", schemas=table)}
    return dict(sorted(texts.items()))
