"""Transcripts: event time as data, one topic from its first record, every step with what must come of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EPOCH = 10**9
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DEFAULTS: Mapping[str, Any] = {
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
    "partitions": 1,
    "clock": 1_000_000,
    "max_records": 0,
    "reports": {"page_views": {"keys": ["user_id"]}},
}

RowKey = tuple[str | int, ...]
"""The values of a report's keys, then window start and end."""


@dataclass(frozen=True)
class Sent:
    """An event on the topic; its Kafka timestamp is its event time unless the transcript says otherwise."""

    partition: int
    user: str
    event_time: int
    act: str = "visit"
    kafka_timestamp: int = 0
    page: str = "/"

    @property
    def stamp(self) -> int:
        """The Kafka timestamp in milliseconds."""
        return self.kafka_timestamp or self.event_time

    def value(self, name: str) -> str:
        """A field by its name in the schema."""
        return {"user_id": self.user, "page_url": self.page, "event_type": self.act}[name]


@dataclass(frozen=True)
class Row:
    """A row of a report; `batch` is the id of the batch that fired or changed it."""

    page_views: int
    clicks: int
    late_events: int
    batch: int


Tables = Mapping[str, Mapping[RowKey, Row]]
"""The rows of every report, by its name."""


@dataclass(frozen=True)
class Seen:
    """What a step led to: the watermark, the whole of every report, and what the step rejected."""

    watermark: int | None
    tables: Tables
    dead: Sequence[tuple[str, int, str]]


@dataclass(frozen=True)
class Step:
    """`wait_ms` moves the service's clock before the step; a step without records is a tick.

    With `restart` the service is closed and opened before that. With `unread` the events are put on the topic, but
    there is a tick only; the next step that sends reads them too.
    """

    send: tuple[Sent, ...]
    wait_ms: int
    tells: Mapping[str, Any]
    restart: bool = False
    unread: bool = False


@dataclass(frozen=True)
class Report:
    """A report as the settings give it; `window` has durations by name."""

    name: str
    keys: tuple[str, ...]
    where: str
    window: Mapping[str, str]
    allowed_lateness_ms: int


@dataclass(frozen=True)
class Transcript:
    """Settings are durations by name, the number of partitions, and the reports."""

    name: str
    settings: Mapping[str, Any]
    steps: tuple[Step, ...]

    def value(self, setting: str) -> Any:
        """A setting as it is given, or its default."""
        return self.settings.get(setting, DEFAULTS[setting])

    def milliseconds(self, setting: str) -> int:
        """A duration in milliseconds."""
        return milliseconds(self.value(setting))

    @property
    def window(self) -> Mapping[str, str]:
        """The windows of a report that has none of its own."""
        told = {"size": self.value("window"), "slide": self.value("slide"), "offset": self.value("offset")}
        return {name: text for name, text in told.items() if text}

    @property
    def reports(self) -> list[Report]:
        """What is made of the events."""
        lateness = self.value("allowed_lateness")
        return [
            Report(
                name,
                tuple(told.get("keys", ())),
                told.get("where", ""),
                told.get("window", self.window),
                milliseconds(told.get("allowed_lateness", lateness)),
            )
            for name, told in self.value("reports").items()
        ]


def milliseconds(text: str) -> int:
    """A duration as it is written."""
    found = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text)
    assert found, f"{text!r} is not a duration"
    return int(found[1]) * _UNITS[found[2]]
