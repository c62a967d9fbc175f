"""The schemas by which Tidemark reads its own contract, as peer jobs use them."""

import json
from collections.abc import Iterable

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.projection import OURS
from tidemark.schemas import WRITER_ID, load_schemas


def writer_and_reader_schema(more: Iterable[str] = ()) -> tuple[str, str]:
    """Returns writer and reader schema as JSON texts; the reader has the needed fields and `more` only."""
    text = load_schemas()[WRITER_ID]
    writer = json.loads(text)
    fields = {field["name"]: field for field in writer["fields"]}
    # Peers read a time as the number it is.
    fields[c.EVENT_TIME] = {"name": c.EVENT_TIME, "type": "long"}
    return text, json.dumps({**writer, "fields": [fields[name] for name in dict.fromkeys((*OURS, *more))]})
