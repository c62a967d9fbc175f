"""A warehouse as the service writes it, without Spark: panes by hand, everything else by the service's code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules, window_states
from tidemark.pipeline.event_time import settings_change as openings
from tidemark.pipeline.event_time.batch import EPOCH, LedgerRow
from tidemark.pipeline.event_time.field_measures import FieldMeasure
from tidemark.pipeline.event_time.lateness import closed_until, cutoffs, finals, in_time_from, is_too_late
from tidemark.pipeline.event_time.policy import Consumer, Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.window_states import States
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.results.compaction import Compaction
from tidemark.pipeline.results.corrections import Corrections
from tidemark.pipeline.results.kind_registry import kind_of, kinds_of
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.results.result_table import published
from tidemark.pipeline.sketches import sketch_of
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.housekeeping import pane_starts, remove_uncommitted, take_over
from tidemark.pipeline.tables.large import NOTHING, LargeJobs
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.opening import Opening, with_closed
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, PANES, result_of
from tidemark.pipeline.tuning import STANDARD, Tuning

MINUTE: Final = 60_000
NOON: Final = 1_714_564_800_000
"""2024-05-01T12:00:00Z."""
REPORTS: Final = (
    Report("page_views", Grid(10 * MINUTE, 10 * MINUTE), 5 * MINUTE),
    Report("pages", Grid(10 * MINUTE, 5 * MINUTE), 5 * MINUTE, keys=("page_url",)),
    Report("days", Calendar(60 * MINUTE, "Europe/Berlin"), 0, keys=()),
    Report("sessions", Sessions(5 * MINUTE), 5 * MINUTE),
    Report("pairs", Counts(2), 0),
    Report(
        "landings",
        Grid(10 * MINUTE, 10 * MINUTE),
        5 * MINUTE,
        keys=("page_url",),
        measures=("page_views", "clicks", "unique_users", "sessions_begun"),
        session_gap_ms=5 * MINUTE,
    ),
    Report(
        "readers",
        Grid(10 * MINUTE, 10 * MINUTE),
        5 * MINUTE,
        keys=("page_url",),
        measures=("page_views", "unique_users"),
    ),
)
_TIMES: Final = ("last_page_url", "first_seen", "last_seen")
TIMED: Final = (
    Report("ends", Grid(10 * MINUTE, 10 * MINUTE), 5 * MINUTE, measures=_TIMES),
    Report("visits", Sessions(5 * MINUTE), 5 * MINUTE, measures=_TIMES),
)
"""Reports with times as measures, which not every site needs."""
OF_ONE_USER: Final = replace(REPORTS[-1], name="each_reader", keys=("user_id",))
"""The number of users is 1 in each row."""
LAST_THREE: Final = Report("last_three", SlidingCounts(3, 2), 0)
GROWING: Final = Report("so_far", Cumulate(20 * MINUTE, 5 * MINUTE), 5 * MINUTE, keys=())
POLICY: Final = Policy(
    strategy=Bounded(0),
    idle_timeout_ms=30_000,
    max_future_skew_ms=MINUTE,
    reports=REPORTS,
    totals=UserTotals(5 * MINUTE, 10 * MINUTE),
)
PAGE_VIEWS_ALONE: Final = replace(POLICY, reports=REPORTS[:1], totals=None)


@dataclass(frozen=True)
class Event:
    """A visit, a click, or an event of another kind, by the minute after noon."""

    minute: float
    user: str = "ann"
    page: str | None = "/"
    click: bool = False
    other: str = ""
    host: str | None = None
    """The value of every dimension."""

    @property
    def time(self) -> int:
        return NOON + round(self.minute * MINUTE)

    @property
    def kind(self) -> str:
        return self.other or ("click" if self.click else "visit")


_PARTS: Final[Mapping[str, Callable[[Event], Any]]] = {
    "first_time": lambda event: event.time,
    "last_time": lambda event: event.time,
    "users": lambda event: sketch_of([event.user]),
    "last_page": lambda event: " ".join([f"{event.time:019d}", *([] if event.page is None else [event.page])]),
}
"""The columns of panes besides counts, from an event."""


@dataclass
class Site:
    """The warehouse of one partition, and the epochs of a service."""

    warehouse: Path | str
    policy: Policy = POLICY
    number: int = 0
    position: int = 0
    watermark: int | None = None
    closed: dict[str, int] = field(default_factory=dict)
    last: int = 0
    dead: list[dict[str, Any]] = field(default_factory=list)
    committed_at: int = 0
    """When the next batch is committed, by the service's clock."""
    silent: Mapping[int, int | None] = field(default_factory=dict)
    """Further partitions without records, with the highest event time of each."""
    large: LargeJobs = NOTHING
    tuning: Tuning = STANDARD
    meaning: Mapping[str, Any] | None = None
    """The settings that give events their meaning, as the openings record them."""

    def open(self) -> "Site":
        """Opens the next epoch."""
        is_new, warehouse = self.number == 0, str(self.warehouse)
        names = [report.name for report in self.policy.reports]
        if not is_new:
            self.closed = openings.closed(self.policy, self.closed, self.watermark, names)
            self.policy = with_closed(self.policy, self.closed)
        self.number = (self.number // EPOCH + 1) * EPOCH
        self.ledger = Ledger(warehouse)
        self.ledger.latest()
        opening = Opening(self.policy, self.closed, None, None, self.last, meaning=self.meaning)
        self._commit(self.watermark, 0, opening=opening.to_text())
        create_tables(warehouse, self.policy, tuning=self.tuning)
        kinds = kinds_of(warehouse, self.policy, self.large, self.tuning)
        take_over(warehouse, self.policy.reports, self.number, None)
        remove_uncommitted(warehouse, self.last, self.number)
        self.publication = Publication(warehouse, kinds)
        self.compaction = Compaction(warehouse, kinds)
        states = window_states.initial(self.policy) if is_new else self._restored()
        dues, self.states = window_states.at_start(states, self.watermark, self.number)
        self.publication.publish(window_states.due(dues), self.number)
        return self

    def _restored(self) -> States:
        warehouse = str(self.warehouse)
        done = {report.name: published(warehouse, result_of(report)) for report in self.policy.reports}
        return window_states.restored(self.policy, pane_starts(warehouse), done, tuple(self.ledger.watermarks(0)))

    def batch(self, *events: Event, commit: bool = True, publish: bool = True) -> "Site":
        """Writes a batch of events at the next offsets; `commit` and `publish` say how far it gets."""
        before, offsets = self.watermark, range(self.position, self.position + len(events))
        self.number += 1
        rows = [row for event, offset in zip(events, offsets, strict=True) for row in self._rows(event, offset)]
        panes = pa.Table.from_pylist(rows, schema=PANES.schema)
        Appender(PANES, str(self.warehouse)).append(panes, self.number)
        dead = [letter for event, offset in zip(events, offsets, strict=True) for letter in self._dead(event, offset)]
        letters = pa.Table.from_pylist(dead, schema=DEAD_LETTERS.schema)
        Appender(DEAD_LETTERS, str(self.warehouse)).append(letters, self.number)
        if not commit:
            return self
        self.dead += dead
        times = [event.time - self.policy.strategy.delay_ms for event in events]
        after = max([*times, *([] if before is None else [before])], default=None)
        reasons = [letter["reason"] for letter in dead]
        self._commit(
            after,
            len(events),
            too_late=reasons.count("too_late"),
            partly_late=reasons.count("partly_late"),
            counted=len(events) - reasons.count("too_late"),
        )
        step = window_states.moved(self.number, {row["pane_start"] for row in rows}, before, after)
        dues, self.states = window_states.after_batch(self.states, step)
        self.dues = dues
        return self.publish_again() if publish else self

    def publish_again(self) -> "Site":
        """Publishes the windows that the last batch made due; may be called again."""
        self.publication.publish(window_states.due(self.dues), self.number)
        return self

    def compact(self) -> "Site":
        """Compacts the panes."""
        for _ in self.compaction.steps(self.number, *finals(self.policy.reports, self.watermark)):
            pass
        return self

    def correct(self) -> "Site":
        """Adds too-late events to the closed windows of every report."""
        corrections = Corrections(str(self.warehouse))
        assert corrections.append_next(self.late_rows())
        for report in self.policy.reports:
            corrections.apply(kind_of(report))
        return self

    def late_rows(self) -> list[dict[str, Any]]:
        """Returns the corrections by which `dead` would be counted."""
        reached = self.watermark or 0
        return [
            row for letter in self.dead for report in self.policy.reports for row in _added(letter, report, reached)
        ]

    def _commit(self, after: int | None, records: int, **columns: Any) -> None:
        fixed = {"batch": self.number, "epoch": self.number // EPOCH, "topic": "t", "partition": 0}
        counts = dict.fromkeys(("counted", "partly_late", "too_late", "future", "malformed", "gap", "lost"), 0)
        offsets = {"from_offset": self.position, "to_offset": self.position + records, "records": records}
        head = None if after is None else after + self.policy.strategy.delay_ms
        watermarks = {"watermark_before": self.watermark, "watermark": after}
        times = {"max_event_time": head, "committed_at": self.committed_at, **watermarks}
        row = LedgerRow(**{**fixed, **counts, **offsets, **times, **columns})
        empty: dict[str, Any] = {**counts, **dict.fromkeys(offsets, 0)}
        others = [replace(row, partition=n, max_event_time=head, **empty) for n, head in self.silent.items()]
        self.ledger.commit([row, *others])
        self.position += records
        self.watermark = after
        self.last = self.number if self.number % EPOCH else self.last

    def _dead(self, event: Event, offset: int) -> list[dict[str, Any]]:
        too_late, partly_late = cutoffs(self.policy.reports, self.watermark)
        if event.time >= partly_late:
            return []
        position = {"topic": "t", "partition": 0, "offset": offset, "batch": self.number, "watermark": self.watermark}
        verdict = {"reason": "too_late" if event.time < too_late else "partly_late", "event_time": event.time}
        record = {"user_id": event.user, "value": f"{event.page} {event.kind}".encode()}
        return [{**dict.fromkeys(DEAD_LETTERS.schema.names), **position, **verdict, **record}]

    def _rows(self, event: Event, offset: int) -> list[dict[str, Any]]:
        too_late, _ = cutoffs(self.policy.reports, self.watermark)
        if event.time < too_late:
            return []
        return [row for consumer in self.policy.consumers for row in self._row(event, offset, consumer)]

    def folded(self, event: Event, measure: FieldMeasure) -> str | int | None:
        """Returns the value of a measure of fields that a fold has of an event."""
        return event.page if measure.path else event.host or ""

    def _row(self, event: Event, offset: int, report: Consumer) -> list[dict[str, Any]]:
        reached = rules.as_number(self.watermark)
        windows = report.windows if isinstance(report, Report) else None
        if is_too_late(event.time, in_time_from(report, self.watermark)):
            return []
        counts = {"page_views": int(event.kind == "visit"), "clicks": int(event.kind == "click"), "late_events": 0}
        if isinstance(windows, Sessions):
            counts["late_events"] = int(event.time + windows.gap_ms <= reached)
        pane = event.time - (event.time + report.shift_ms) % report.pane_ms if report.pane_ms else event.time
        fixed = {"batch": self.number, "report": report.name, "watermark": reached, "pane_start": pane}
        keys = {"user_id": event.user, "page_url": event.page, "event_type": event.kind}
        if isinstance(report, Report):
            keys |= {report.stored(dimension.name): event.host for dimension in report.dimensions}
        pane_columns: dict[str, Any] = {key: keys[key] for key in report.pane_keys}
        # Rows of older versions have no number of events.
        pane_columns |= {"events": 1 if event.other else None, "closed_until": closed_until(report, self.watermark)}
        pane_columns |= {part.name: _PARTS[part.name](event) for part in report.parts if part.name in _PARTS}
        if isinstance(report, Report):
            values = {each.column: self.folded(event, each) for each in report.field_measures}
            place = {c.TIME: event.time, c.PARTITION: 0, c.OFFSET: offset}
            pane_columns |= report.parts_of(values | place, sketch_of)
        if windows is not None and windows.keeps_events:
            pane_columns["record_position"] = offset
        if isinstance(windows, Calendar):
            pane_columns["window_start_ms"], pane_columns["window_end_ms"] = windows.window(event.time)
        return [{**dict.fromkeys(PANES.schema.names), **fixed, **counts, **pane_columns}]


def _added(letter: dict[str, Any], report: Report, watermark: int) -> list[dict[str, Any]]:
    """Returns the corrections of an event for the windows that it missed."""
    time, closed = letter["event_time"], watermark - report.allowed_lateness_ms
    page, kind = letter["value"].decode().split()
    counts = {"page_views": int(kind == "visit"), "clicks": int(kind == "click"), "late_events": 1}
    keys = {"user_id": letter["user_id"], "page_url": None if page == "None" else page, "event_type": kind}
    same = {name: letter[name] for name in ("topic", "partition", "offset", "event_time")} | counts
    return [
        {"report": report.name, "closed_until": closed, **same, "window_start_ms": start, "window_end_ms": end}
        | {key: keys[key] for key in keys.keys() & {*report.fold_keys}}
        for start, end in _windows(time, report, letter["watermark"])
        if end <= closed
    ]


def _windows(time: int, report: Report, judged: int) -> list[tuple[int, int]]:
    windows = report.windows
    if isinstance(windows, Sessions):
        return [(time, time + windows.gap_ms)] if time + windows.gap_ms + report.allowed_lateness_ms <= judged else []
    return [(start, end) for start, end in windows.of(time) if end + report.allowed_lateness_ms <= judged]
