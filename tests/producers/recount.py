"""Recounts a stream from its bytes alone, independently of the simulator."""

import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import fastavro
import pyarrow as pa

from tidemark.schemas import load_schemas

_SCHEMAS = {
    b"\x00" + schema_id.to_bytes(4): fastavro.parse_schema(json.loads(text))
    for schema_id, text in load_schemas().items()
}
HEADER = b"\x00\x00\x00\x00\x01"

Cell = tuple[str, int]
Cells = dict[Cell, tuple[int, int]]


def decode(value: bytes | None) -> dict[str, Any] | None:
    """Returns the event in a value, with `event_time` in ms since 1970; None if it is malformed."""
    if not value or value[:5] not in _SCHEMAS:
        return None
    try:
        event = fastavro.schemaless_reader(io.BytesIO(value[5:]), _SCHEMAS[value[:5]], None)
    except (EOFError, ValueError, IndexError, UnicodeDecodeError, MemoryError):
        return None
    if not isinstance(event, dict) or not isinstance(event["event_time"], datetime):
        return None
    at_ms = round(event["event_time"].timestamp() * 1000)
    return {**event, "event_time": at_ms} if event["user_id"] and at_ms > 0 else None


def decode_json(value: bytes | None) -> dict[str, Any] | None:
    """Like `decode`, of a value in JSON, alone or after a registry's frame."""
    try:
        event = json.loads((value or b"")[5 if value and value[0] == 0 else 0 :])
    except ValueError:
        return None
    return event if isinstance(event, dict) and event["user_id"] and event["event_time"] > 0 else None


@dataclass
class Recount:
    """Judges each event by the newest before it on its partition, as a consumer would."""

    window_ms: int
    late_by_ms: int
    future_from_ms: int
    reasons: Counter[str] = field(default_factory=Counter)
    partitions: Counter[int] = field(default_factory=Counter)
    on_time: dict[Cell, list[int]] = field(default_factory=dict)
    too_late: dict[Cell, list[int]] = field(default_factory=dict)
    _newest: dict[int, int] = field(default_factory=dict)
    _ids: set[str] = field(default_factory=set)

    def add(self, partition: int, value: bytes | None) -> None:
        """Judge one record and count it."""
        self.partitions[partition] += 1
        event = decode(value)
        reason = self._judge(partition, event)
        self.reasons[reason] += 1
        cells = {"on_time": self.on_time, "too_late": self.too_late}.get(reason)
        if event is not None and cells is not None:
            cell = (event["user_id"], event["event_time"] // self.window_ms * self.window_ms)
            cells.setdefault(cell, [0, 0])[event["event_type"] == "click"] += 1

    def _judge(self, partition: int, event: dict[str, Any] | None) -> str:
        if event is None:
            return "malformed"
        at, newest = event["event_time"], self._newest.get(partition, 0)
        if at > self.future_from_ms:
            return "future"
        self._newest[partition] = max(newest, at)
        if event["event_id"] in self._ids:
            return "duplicate"
        self._ids.add(event["event_id"])
        return "too_late" if at < newest - self.late_by_ms // 2 else "on_time"


def cells(counts: dict[Cell, list[int]]) -> Cells:
    """Recounted cells in the form of `table_cells`."""
    return {cell: (views, clicks) for cell, (views, clicks) in counts.items()}


def table_cells(table: pa.Table) -> Cells:
    """(user, window start) -> (page views, clicks); fails if a row is there twice."""
    rows = table.to_pylist()
    found = {(r["user_id"], r["window_start"]): (r["page_views"], r["clicks"]) for r in rows}
    assert len(found) == len(rows)
    return found


def partition_numbers(records: Iterable[tuple[int, bytes]]) -> dict[bytes, set[int]]:
    """The partitions that each key was seen on."""
    seen: dict[bytes, set[int]] = {}
    for partition, key in records:
        seen.setdefault(key, set()).add(partition)
    return seen
