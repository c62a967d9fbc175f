"""The schemas by which Tidemark reads its own contract, as peer jobs use them."""

import json
from collections.abc import Iterable

from pipeline.fold.decode import projection_of
from schemas import WRITER_ID, load_schemas
from schemas.fields import EventSchemas


def writer_and_reader_schema(keys: Iterable[str] = ()) -> tuple[str, str]:
    """Returns the writer schema and the reader schema with the needed fields and `keys` only, as JSON texts."""
    projection = projection_of(EventSchemas({WRITER_ID: load_schemas()[WRITER_ID]}), ", ".join(keys))
    reader = json.loads(projection.reader_schema)
    needed = reader["fields"][: len(projection.names)]
    return projection.writers[WRITER_ID], json.dumps({**reader, "fields": needed})
