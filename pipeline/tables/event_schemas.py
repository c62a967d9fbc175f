"""The schemas of events: those of a folder, or what a registry told, kept so that each is asked for once."""

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
    """The schemas that the settings name, those of a registry as they were kept in the warehouse. Raises SetUpError."""
    fields = settings.schemas.mapping.fields()
    if settings.schemas.registry.url:
        return EventSchemas(kept_schemas(settings.warehouse), fields)
    try:
        return EventSchemas(load_schemas(settings.schemas.folder), fields)
    except ValueError as error:
        raise SetUpError(str(error)) from error


def kept_schemas(warehouse: str) -> dict[int, str]:
    """Schema id -> Avro JSON text. Raises Unreachable where the store does not say."""
    table = find_table(EVENT_SCHEMAS.name, warehouse)
    return {} if table is None else _in(table)


def keep_schemas(warehouse: str, texts: Mapping[int, str]) -> None:
    """Stores the schemas that the table does not have yet."""
    handle = Handle.of(EVENT_SCHEMAS, warehouse)
    while new := sorted(texts.keys() - _in(handle.table).keys()):
        rows = pa.table([new, [texts[schema_id] for schema_id in new]], schema=EVENT_SCHEMAS.schema)
        if handle.swap(rows, by=None):
            return


def _in(table: DeltaTable) -> dict[int, str]:
    return {row["schema_id"]: row["avro"] for row in rows_of("SELECT * FROM kept ORDER BY schema_id", kept=table)}
