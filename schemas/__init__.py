"""The Avro contract between producers and the pipeline: schema id -> Avro JSON text.

Uses only the standard library, so that neither side needs the other's dependencies.
"""

import json
import re
from pathlib import Path

from tidemark.schemas.fields import Guid, schema_id_of

WRITER_ID = 1
"""The schema id of visits and clicks of our own producers."""
SECOND_ID = 2
"""The schema id of events of other kinds, and of events with properties."""

_BUNDLED = Path(__file__).parent
_GUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FILE_NAME = re.compile(rf"[A-Za-z0-9_-]+(?:\.(?P<id>[1-9][0-9]*|{_GUID}))?\.avsc")
_LARGEST_ID = 2**31 - 1  # four signed bytes in the Confluent wire format


def load_schemas(directory: Path | None = None) -> dict[int, str]:
    """Returns every version of the contract in `directory`, by default the bundled versions.

    The result maps schema id to Avro JSON text, in order of id. `<name>.<id>.avsc` has schema id `<id>`, a number or a
    GUID; `<name>.avsc` has 1. Raises ValueError for any other name that ends in `.avsc`, for invalid JSON, for two
    files of one id, and for a folder that does not exist or has no schemas.
    """
    directory = directory or _BUNDLED
    if not directory.is_dir():
        raise ValueError(f"there is no folder {directory} with schemas: create it, or name another")
    schemas: dict[int, str] = {}
    for path in sorted(directory.glob("*.avsc")):
        schema_id = _id_of(path)
        if schema_id in schemas:
            raise ValueError(f"{path}: schema id {schema_id} is given by two files; remove one")
        schemas[schema_id] = _text_of(path)
    if not schemas:
        raise ValueError(f"{directory} holds no schema; expected files such as user_event.avsc (id 1) or a.1047.avsc")
    return dict(sorted(schemas.items()))


def _id_of(path: Path) -> int:
    match = _FILE_NAME.fullmatch(path.name)
    schema_id = schema_id_of(match["id"] or "1") if match else 0
    if not isinstance(schema_id, Guid) and not 1 <= schema_id <= _LARGEST_ID:
        raise ValueError(
            f"{path} is not a schema's file name; "
            f"expected <name>.avsc (id 1) or <name>.<id>.avsc with a GUID or an id up to {_LARGEST_ID}"
        )
    return schema_id


def _text_of(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not valid JSON: {error}; correct the file") from error
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise ValueError(f"{path} is not an Avro record; expected a JSON object of type record")
    return text
