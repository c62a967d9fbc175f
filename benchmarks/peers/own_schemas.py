"""The schemas by which Tidemark reads its own contract, as peer jobs use them."""

import json
from collections.abc import Iterable

from pipeline.decoding.decode import projection_of
from schemas import WRITER_ID, load_schemas
from schemas.fields import EventSchemas


def writer_and_reader_schema(more: Iterable[str] = ()) -> tuple[str, str]:
    """Returns writer and reader schema as JSON texts; the reader has the needed fields and `more` only."""
    projection = projection_of(EventSchemas({WRITER_ID: load_schemas()[WRITER_ID]}), ", ".join(more))
    reader = json.loads(projection.reader_schema)
    needed = reader["fields"][: len(projection.names)]
    return projection.writers[WRITER_ID], json.dumps({**reader, "fields": needed})
