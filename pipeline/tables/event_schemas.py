"""The schemas of events: those of a folder, or of a registry, stored so that each is requested once."""

from collections.abc import Mapping

import pyarrow as pa
from deltalake import DeltaTable

from pipeline.errors import SetUpError
from pipeline.settings.model import Settings
from pipeline.tables.handle import Handle
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import EVENT_SCHEMAS, find_table
from schemas import load_schemas
from schemas.fields import EventSchemas


def schemas_of(settings: Settings) -> EventSchemas:
    """Returns the schemas of the configured folder, or those that the warehouse stores; JSON has no schema.

    Raises SetUpError.
    """
    fields = settings.schemas.mapping.fields()
    if settings.schemas.format == "json":
        return EventSchemas({}, fields, format="json")
    if settings.schemas.registry.url:
        has_long_ids = settings.schemas.registry.ids == "auto"
        return EventSchemas(stored_schemas(settings.warehouse), fields, has_long_ids)
    try:
        return EventSchemas(load_schemas(settings.schemas.folder), fields, settings.schemas.folder is not None)
    except ValueError as error:
        raise SetUpError(str(error)) from error


def stored_schemas(warehouse: str) -> dict[int, str]:
    """Returns Avro JSON texts by schema id. Raises Unreachable if the store does not respond."""
    table = find_table(EVENT_SCHEMAS.name, warehouse)
    return {} if table is None else _texts(table)


def store_schemas(warehouse: str, texts: Mapping[int, str]) -> None:
    """Stores the schemas, Avro JSON texts by schema id, that the table does not have yet."""
    handle = Handle.of(EVENT_SCHEMAS, warehouse)
    while new := sorted(texts.keys() - _texts(handle.table).keys()):
        rows = pa.table([new, [texts[schema_id] for schema_id in new]], schema=EVENT_SCHEMAS.schema)
        if handle.swap(rows, by=None):
            return


def _texts(table: DeltaTable) -> dict[int, str]:
    return {row["schema_id"]: row["avro"] for row in rows_of("SELECT * FROM schemas ORDER BY schema_id", schemas=table)}
