"""The truth file of a run: counts of the sent events, to compare with the results of a consumer.

The file is one JSON object. `on_time` and `too_late` have columns of equal length; `user` is an index into `users`,
`window_start` is in milliseconds since 1970:

    {"format": "tidemark.truth/1", "topic": "user-events", "window_ms": 60000,
     "sent": {"on_time": 9, "jittered": 3, "too_late": 1, "future": 0, "malformed": 2},
     "malformed": {"bad_magic": 1, "tombstone": 1, ...}, "partitions": {"0": 7, "1": 8},
     "users": ["user-000001", ...],
     "on_time": {"user": [0, ...], "window_start": [...], "page_views": [...], "clicks": [...]},
     "too_late": {...}}
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

FORMAT = "tidemark.truth/1"
_BEGIN = b'{"format":"tidemark.truth/'
COUNTS = pa.schema(
    [
        pa.field("user_id", pa.string(), nullable=False),
        pa.field("window_start", pa.int64(), nullable=False),
        pa.field("page_views", pa.int64(), nullable=False),
        pa.field("clicks", pa.int64(), nullable=False),
    ]
)


@dataclass(frozen=True)
class Truth:
    """Counts of acknowledged records.

    `on_time` (kinds on_time and jittered) and `too_late` are tables of schema `COUNTS`: one row per user and tumbling
    window [window_start, window_start + window_ms), in milliseconds since 1970, sorted by window and user. They are
    separate because a consumer may rightly count a too-late event that shares a batch with the event that closed its
    window: a comparison accepts, per row, `on_time` plus any part of `too_late` whose rest is in the dead letters.
    """

    topic: str
    window_ms: int
    sent: dict[str, int]
    malformed: dict[str, int]
    partitions: dict[int, int]
    on_time: pa.Table
    too_late: pa.Table

    @classmethod
    def load(cls, path: Path) -> "Truth":
        """Reads a truth file. Raises ValueError if it is not a truth file, OSError if it cannot be read."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} is not a truth file: {error}") from error
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(f"{path} is not a truth file of format {FORMAT}; write it again")
        return cls(
            topic=document["topic"],
            window_ms=document["window_ms"],
            sent=document["sent"],
            malformed=document["malformed"],
            partitions={int(partition): count for partition, count in document["partitions"].items()},
            on_time=_unpack(document["on_time"], document["users"]),
            too_late=_unpack(document["too_late"], document["users"]),
        )

    def write(self, path: Path) -> None:
        """Writes the file atomically. Raises OSError if that fails."""
        users = pa.concat_tables([self.on_time, self.too_late])["user_id"].unique()
        document = {
            "format": FORMAT,
            "topic": self.topic,
            "window_ms": self.window_ms,
            "sent": self.sent,
            "malformed": self.malformed,
            "partitions": self.partitions,
            "users": users.to_pylist(),
            "on_time": _pack(self.on_time, users),
            "too_late": _pack(self.too_late, users),
        }
        _replace(path, json.dumps(document, separators=(",", ":")))


def is_truth_file(path: Path) -> bool:
    """Returns whether `path` is a file that begins like a truth file. Raises OSError if it cannot be read."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_BEGIN)) == _BEGIN


def _pack(table: pa.Table, users: pa.Array) -> dict[str, list[int]]:
    user = pc.index_in(table["user_id"], users)
    packed = table.set_column(0, "user", user)
    columns: dict[str, list[int]] = packed.to_pydict()
    return columns


def _unpack(columns: dict[str, Any], users: list[str]) -> pa.Table:
    user_id = pa.array(users, pa.string()).take(pa.array(columns["user"], pa.int64()))
    rest = {name: columns[name] for name in COUNTS.names[1:]}
    return pa.Table.from_pydict({"user_id": user_id, **rest}, schema=COUNTS)


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
