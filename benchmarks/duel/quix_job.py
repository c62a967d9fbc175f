"""The job of Quix Streams, in an environment of its own: `quix_job.py SERVERS TOPIC OUTPUT FOLDER SCHEMA-FILE`.

Late and malformed records are appended to the file `rejected` of the folder, a user per line.
"""

import io
import json
import logging
import sys
from pathlib import Path
from typing import Any

import fastavro
from quixstreams import Application  # type: ignore[import-not-found, unused-ignore]
from quixstreams.models.serializers import (  # type: ignore[import-not-found, unused-ignore]
    Deserializer,
    SerializationError,
)

FRAME_BYTES = 5
WINDOW_MS = 60_000
GRACE_MS = 10_000
SESSION_MS = 10_000


class FramedAvro(Deserializer):  # type: ignore[misc, unused-ignore]
    """Reads events after their frame; `event_time` stays in milliseconds."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Parses the schema of the events."""
        super().__init__()
        fields = [{**field, "type": "long"} if field["name"] == "event_time" else field for field in schema["fields"]]
        self._schema = fastavro.parse_schema({**schema, "fields": fields})

    def __call__(self, value: bytes, ctx: object) -> Any:  # noqa: ARG002 - the interface
        """Returns the event. Raises SerializationError if the value is no event."""
        if len(value) < FRAME_BYTES or value[0]:
            raise SerializationError("a value without the frame of a schema registry")
        try:
            return fastavro.schemaless_reader(io.BytesIO(value[FRAME_BYTES:]), self._schema, None)
        except Exception as error:
            raise SerializationError("a value that is not an event") from error


def main(bootstrap_servers: str, topic: str, output: str, folder: str, schema: str) -> None:
    """Counts until the process is killed."""
    with Path(folder, "rejected").open("a", buffering=1) as rejected:
        app = Application(
            bootstrap_servers,
            consumer_group=topic,
            auto_offset_reset="earliest",
            processing_guarantee="exactly-once",
            state_dir=Path(folder, "state"),
            consumer_extra_config={"session.timeout.ms": SESSION_MS},
            on_consumer_error=lambda _, message, __: _note(rejected, message and message.key()),
            loglevel=logging.WARNING,
        )
        events = app.topic(
            topic,
            value_deserializer=FramedAvro(json.loads(Path(schema).read_text())),
            timestamp_extractor=lambda value, *_: value["event_time"],
        )
        windows = app.dataframe(events).tumbling_window(
            WINDOW_MS, grace_ms=GRACE_MS, on_late=lambda _, key, *__: not _note(rejected, key)
        )
        windows.count().current().to_topic(app.topic(output))
        app.run()


def _note(rejected: io.TextIOBase, key: bytes | None) -> bool:
    rejected.write(f"{(key or b'').decode()}\n")
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
