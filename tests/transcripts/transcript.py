"""Transcripts: event time as data, one topic from its first record, every step with what must come of it."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from typing import Any, Self

from tests.transcripts.page_fields import columns_of, values_of

EPOCH = 10**9
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DEFAULTS: Mapping[str, Any] = {
    "window": "1m",
    "bound": "10s",
    "allowed_lateness": "0s",
    "idle_timeout": "1h",
    "max_future_skew": "1h",
    "max_ahead_of_clock": "off",
    "max_age": "off",
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
    "totals": None,
    "deduplicate": "off",
}

RowKey = tuple[str | int, ...]
"""The values of a report's keys, then window start and end; of totals the user."""


@dataclass(frozen=True)
class Sent:
    """An event on the topic; its Kafka timestamp is its event time unless the transcript says otherwise."""

    partition: int
    user: str
    event_time: int
    act: str = "visit"
    kafka_timestamp: int = 0
    page: str = "/"
    id: str = ""

    @property
    def stamp(self) -> int:
        """The Kafka timestamp in milliseconds."""
        return self.kafka_timestamp or self.event_time

    def time(self, of: str, now: int) -> int:
        """The one of its times that a setting names; processing time is that of the clock."""
        return {"event": self.event_time, "ingestion": self.stamp, "processing": now}[of]

    def value(self, name: str) -> str:
        """A field by its name in the schema."""
        return {"user_id": self.user, "page_url": self.page, "event_type": self.act}[name]

    def meets(self, condition: str) -> bool:
        """Whether a condition such as `user_id = 'a'` or `page_url <> '/'` holds; true without a condition."""
        if not condition:
            return True
        found = re.fullmatch(r"(\w+) (=|<>) '(.*)'", condition)
        assert found, f"{condition!r} is not a condition"
        return (self.value(found[1]) == found[3]) is (found[2] == "=")


@dataclass(frozen=True)
class Counted:
    """An event that counts, its time, its batch, and the watermark from before that batch.

    Then windows that ended no later than `closed_until` had closed in the report in which it counts.
    """

    event: Sent
    time: int
    batch: int
    watermark: int
    closed_until: int = 0


@dataclass(frozen=True)
class Row:
    """A row of a table; `values` by column, `batch` is the id of the batch that fired or changed it."""

    values: Mapping[str, Any]
    batch: int

    @classmethod
    def of(cls, counted: Sequence[Counted], columns: Sequence[str], fired: Sequence[int] = (), **more: int) -> Self:
        """Returns the row of some events; `more` are columns that follow from rules of event time."""
        acts = Counter(entry.event.act for entry in counted)
        times = [entry.time for entry in counted]
        pages = [(entry.time, entry.event.page) for entry in counted]
        values = {
            "page_views": acts["visit"],
            "clicks": acts["click"],
            "events": len(counted),
            "unique_users": len({entry.event.user for entry in counted}),
            "first_seen": min(times),
            "last_seen": max(times),
            "last_page_url": max(pages)[1],
            "duration_ms": max(times) - min(times),
            "bounced": int((acts["visit"], acts["click"]) == (1, 0)),
            **values_of([(entry.time, entry.event.partition, entry.event.page) for entry in counted], acts["click"]),
            **more,
        }
        return cls({column: values[column] for column in columns}, max([*fired, *(entry.batch for entry in counted)]))


Tables = Mapping[str, Mapping[RowKey, Row]]
"""The rows of every report by its name, and those of totals."""


@dataclass(frozen=True)
class Seen:
    """A step led to a watermark and the whole of every table, rejected some events and found some duplicates."""

    watermark: int | None
    tables: Tables
    dead: Sequence[tuple[str, int, str]]
    duplicates: int = 0


@dataclass(frozen=True)
class Step:
    """`wait_ms` moves the service's clock before the step; a step without records is a tick.

    With `restart` the service is closed and opened before that; what it holds are settings that change then. With
    `unread` the events are put on the topic, but there is a tick only; the next step that sends reads them too. `cut`
    says how many records of which partition a batch reads, where it does not read all.
    """

    send: tuple[Sent, ...]
    wait_ms: int
    expected: Mapping[str, Any]
    restart: bool | Mapping[str, Any] = False
    unread: bool = False
    cut: Mapping[int, int] | None = None

    @property
    def reads(self) -> bool:
        """Whether it is a batch, and not a tick."""
        return bool(self.cut) or (bool(self.send) and not self.unread)

    @property
    def changes(self) -> Mapping[str, Any]:
        """Settings that a restart changes."""
        return {} if isinstance(self.restart, bool) else self.restart


@dataclass(frozen=True)
class Report:
    """A report as the settings give it; `window` has milliseconds by name, a zone, or a count and its slide."""

    name: str
    keys: tuple[str, ...]
    where: str
    window: Mapping[str, Any]
    allowed_lateness_ms: int
    measures: tuple[str, ...]
    session_gap_ms: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its table between the key and the batch."""
        return (*columns_of(self.measures), "late_events")

    def key_of(self, event: Sent) -> tuple[str, ...]:
        """The values of its keys."""
        return tuple(event.value(key) for key in self.keys)

    def table(self, rows: Iterable[tuple[RowKey, Row]]) -> dict[RowKey, Row]:
        """Rows by their keys. Count windows may share a key: then the second has a 2 after its key, and so on.

        They are in the order of their batches, and in one batch in that of their values.
        """
        found = dict[RowKey, Row]()
        for key, row in sorted(rows, key=lambda one: (one[1].batch, *one[1].values.values())):
            found[vacant(key, found)] = row
        return found


@dataclass(frozen=True)
class Totals:
    """The setting `totals`."""

    gap_ms: int
    every_ms: int
    name: str = "user_totals"
    columns: tuple[str, ...] = ("first_seen", "last_seen", "sessions", "page_views", "clicks")


@dataclass(frozen=True)
class Transcript:
    """Settings are durations by name, the number of partitions, the reports, and totals."""

    name: str
    settings: Mapping[str, Any]
    steps: tuple[Step, ...]
    before: "Transcript | None" = None
    """As it was until its settings changed."""

    def restarted(self, changed: Mapping[str, Any]) -> "Transcript":
        """With other settings from a restart on; those that are not named stay."""
        return replace(self, settings={**self.settings, **changed}, before=self)

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of its events, with `visit` and `click`, which every mapping has."""
        return sorted({"visit", "click", *(event.act for step in self.steps for event in step.send)})

    @property
    def has_other_kinds(self) -> bool:
        """Whether some event is neither a visit nor a click. Then the topic is in JSON: our own Avro has no others."""
        return len(self.kinds) > 2

    def value(self, setting: str) -> Any:
        """A setting as it is given, or its default."""
        return self.settings.get(setting, DEFAULTS[setting])

    def milliseconds(self, setting: str) -> int:
        """A duration in milliseconds."""
        return milliseconds(self.value(setting))

    @property
    def window(self) -> Mapping[str, str]:
        """The windows of a report without windows of its own, as configured."""
        sizes = {"size": self.value("window"), "slide": self.value("slide"), "offset": self.value("offset")}
        return {name: text for name, text in sizes.items() if text}

    @cached_property
    def reports(self) -> list[Report]:
        """The reports that are made of the events."""
        lateness = self.value("allowed_lateness")
        return [
            Report(
                name,
                tuple(report.get("keys", ())),
                report.get("where", ""),
                _in_milliseconds(report.get("window", self.window)),
                milliseconds(report.get("allowed_lateness", lateness)),
                tuple(report.get("measures", ("page_views", "clicks"))),
                milliseconds(report.get("session_gap", "30m")),
            )
            for name, report in self.value("reports").items()
        ]

    @cached_property
    def totals(self) -> Totals | None:
        """Whether totals per user are kept, and how."""
        totals = self.value("totals")
        return totals and Totals(milliseconds(totals["gap"]), milliseconds(totals["every"]))

    @property
    def every_report(self) -> dict[str, Report]:
        """All current and former reports: their tables stay."""
        earlier = self.before.every_report if self.before else {}
        return earlier | {report.name: report for report in self.reports}

    @property
    def every_totals(self) -> Totals | None:
        """Totals that there are or were."""
        earlier = self.before.every_totals if self.before else None
        return self.totals or earlier

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """Every table by its name, with its columns between the key and the batch."""
        return {table.name: table.columns for table in (*self.every_report.values(), self.every_totals) if table}


def _in_milliseconds(window: Mapping[str, Any]) -> dict[str, Any]:
    """Also of counts, whose slide is a number of events."""
    return {
        name: value if name in ("zone", "count") or isinstance(value, int) else milliseconds(value)
        for name, value in window.items()
    }


def vacant(key: RowKey, rows: Container[RowKey]) -> RowKey:
    """Returns the key, or if it is taken, the key followed by the first free number from 2 on."""
    return next(
        candidate for candidate in chain([key], ((*key, number) for number in count(2))) if candidate not in rows
    )


def milliseconds(text: str) -> int:
    """A duration as it is written."""
    found = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text)
    assert found, f"{text!r} is not a duration"
    return int(found[1]) * _UNITS[found[2]]
