"""Transcripts: event time as data, one topic from its first record, every step with what must come of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_DEFAULTS = {
    "window": "1m",
    "bound": "10s",
    "allowed_lateness": "0s",
    "idle_timeout": "1h",
    "max_future_skew": "1h",
    "slide": "",
    "offset": "0s",
    "of": "event",
    "strategy": "bounded",
    "marker": "",
    "lag": "1m",
    "all_idle": "hold",
}

RowKey = tuple[str, int, int]
"""User, window start, window end."""


@dataclass(frozen=True)
class Sent:
    """An event on the topic; its Kafka timestamp is its event time unless the transcript says otherwise."""

    partition: int
    user: str
    event_time: int
    act: str = "visit"
    kafka_timestamp: int = field(default=0)

    @property
    def stamp(self) -> int:
        """The Kafka timestamp in milliseconds."""
        return self.kafka_timestamp or self.event_time


@dataclass(frozen=True)
class Row:
    """A row of `page_views`; `batch` is the number of the batch that fired or changed it, from 1."""

    page_views: int
    clicks: int
    late_events: int
    batch: int


@dataclass(frozen=True)
class Seen:
    """What a step led to: the watermark, the whole of `page_views`, and what the step rejected."""

    watermark: int | None
    rows: Mapping[RowKey, Row]
    dead: Sequence[tuple[str, int, str]]


@dataclass(frozen=True)
class Step:
    """`wait_ms` moves the service's clock before the step; a step without records is a tick."""

    send: tuple[Sent, ...]
    wait_ms: int
    tells: Mapping[str, Any]

    def check(self, before: Mapping[RowKey, Row], seen: Seen) -> None:
        """Hold what was seen against what the transcript says; `before` are the rows before the step."""
        changed = {key: row for key, row in seen.rows.items() if before.get(key) != row}
        told = {tuple(row[:3]): tuple(row[3:]) for row in self.tells.get("published", [])}
        clicks = {key: row.clicks for key, row in changed.items() if row.clicks}
        assert seen.watermark == self.tells["watermark"]
        assert {key: (row.page_views, row.late_events) for key, row in changed.items()} == told
        assert clicks == {tuple(row[:3]): row[3] for row in self.tells.get("clicks", [])}
        assert [(user, at) for user, at, why in seen.dead if why == "too_late"] == self._told("dead")
        assert [(user, at) for user, at, why in seen.dead if why == "future"] == self._told("future")
        for user, start, end, batch in self.tells.get("batches", []):
            assert seen.rows[user, start, end].batch == batch

    def _told(self, name: str) -> list[tuple[str, int]]:
        return sorted((user, at) for user, at in self.tells.get(name, []))


@dataclass(frozen=True)
class Transcript:
    """Settings are durations by name, and the number of partitions."""

    name: str
    settings: Mapping[str, Any]
    steps: tuple[Step, ...]

    @property
    def partitions(self) -> int:
        """How many partitions the topic has."""
        return int(self.settings["partitions"])

    def text(self, setting: str) -> str:
        """A setting as it is written."""
        return str(self.settings.get(setting, _DEFAULTS[setting]))

    def milliseconds(self, setting: str) -> int:
        """A duration in milliseconds."""
        return _milliseconds(self.text(setting))


def transcripts() -> list[Transcript]:
    """All of them, from every file beside this one."""
    return [_transcript(told) for path in sorted(HERE.glob("*.yaml")) for told in yaml.safe_load(path.read_text())]


def _transcript(told: Mapping[str, Any]) -> Transcript:
    return Transcript(told["name"], told["settings"], tuple(_step(step) for step in told["steps"]))


def _step(told: Mapping[str, Any]) -> Step:
    sent = tuple(Sent(*entry) for entry in told.get("send", []))
    return Step(sent, _milliseconds(told.get("wait", "0s")), told)


def _milliseconds(text: str) -> int:
    found = re.fullmatch(r"(\d+)(ms|s|m|h)", text)
    assert found, f"{text!r} is not a duration"
    return int(found[1]) * _UNITS[found[2]]
