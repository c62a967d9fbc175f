"""Every setting, once, in one frozen tree: flag > environment > file > default.

`TIDEMARK_KAFKA__TOPIC=clicks` in the environment is `topic` under `[kafka]` in a TOML file and `--kafka.topic` as a
flag. Durations are written `500ms`, `30s`, `10m`, `12h`, `7d`.
"""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal, Self, get_args
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PositiveInt, model_validator
from pydantic_settings import (
    BaseSettings,
    SettingsConfigDict,
)

from pipeline.begin import parse_begin
from pipeline.durations import Duration, PositiveDuration, milliseconds
from pipeline.time.calendar import Calendar, has_whole_parts
from pipeline.time.counts import Counts
from pipeline.time.grid import Grid
from pipeline.time.report import Periodic, Report
from pipeline.time.sessions import Sessions
from pipeline.time.totals import Totals
from pipeline.time.verdicts import AllIdle, Policy, Strategy, TimeOf

Key = Literal["user_id", "page_url", "event_type"]
Measure = Literal["page_views", "clicks", "unique_users", "sessions_begun"]


def _start(value: str) -> str:
    parse_begin(value)
    return value


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class KafkaSettings(_Section):
    """Where the events come from."""

    bootstrap_servers: str = ""
    """Brokers to ask first, `host:port,host:port`."""
    topic: str = ""
    """The topic of click and visit events."""
    start: Annotated[str, AfterValidator(_start)] = "earliest"
    """Where a new warehouse begins: `earliest`, `latest`, `timestamp:<ISO time>`, `group:<id>` (the offsets of a
    consumer group) or `offsets:{"<partition>": <offset>, ...}`. An existing one goes on from its ledger."""
    group_id: str = "tidemark"
    """Consumer group that mirrors the committed offsets, for ordinary lag tools. Nothing is read from it."""
    connect_timeout: PositiveDuration = timedelta(minutes=1)
    """How long a start waits for a broker that does not answer."""
    options: dict[str, str] = Field(default_factory=dict)
    """Further Kafka client properties by their Java names, such as `security.protocol`."""


class TimeSettings(_Section):
    """Event time: how late is late."""

    of: TimeOf = TimeOf.EVENT
    """Which time of a record counts: `event` (its own), `ingestion` (Kafka's), `processing` (the service's clock)."""
    strategy: Strategy = Strategy.BOUNDED
    """What moves the watermark: `bounded` (every event), `punctuated` (a marker), `time_lag` (the clock)."""
    marker: str = ""
    """With `punctuated`: which event is a marker, in SQL over the event's fields, such as `event_type = 'click'`."""
    lag: Duration = timedelta(minutes=1)
    """With `time_lag`: how far the watermark is behind the clock."""
    all_idle: AllIdle = AllIdle.HOLD
    """While every partition is idle the watermark stays (`hold`), or follows the clock minus the bound (`advance`)."""
    interval: PositiveDuration = timedelta(seconds=1)
    """How often idleness and the clock are looked at while no data comes; with data every batch does it."""
    bound: Duration = timedelta(seconds=10)
    """Out-of-orderness bound: how much later than a newer event an older one may still arrive."""
    allowed_lateness: Duration = timedelta(minutes=1)
    """How long after it fired a window still takes late events and fires again."""
    idle_timeout: PositiveDuration = timedelta(seconds=30)
    """How long a partition may be silent before it stops holding the watermark."""
    max_future_skew: Duration = timedelta(minutes=5)
    """How far ahead of its Kafka timestamp an event time may be."""

    @model_validator(mode="after")
    def _marker_belongs_to_punctuated(self) -> Self:
        if (self.strategy is Strategy.PUNCTUATED) != bool(self.marker):
            raise ValueError("strategy punctuated and a marker belong together: set both or neither")
        return self


class WindowSettings(_Section):
    """Windows: of a size, tumbling, sliding or by the calendar of a zone; or sessions, or a count of events."""

    size: PositiveDuration = timedelta(minutes=1)
    """Length of a window."""
    slide: PositiveDuration | None = None
    """Time from the begin of one window to the next; without it windows tumble, one after the other."""
    offset: Duration = timedelta(0)
    """How far windows are shifted: with a size of 1d and an offset of 6h days begin at 06:00 UTC."""
    zone: str = ""
    """A time zone such as `Europe/Berlin`, by whose clocks days and hours begin; they may then be longer or shorter."""
    gap: PositiveDuration | None = None
    """With it windows are sessions: events of a key that follow one another within the gap."""
    count: PositiveInt | None = None
    """With it a window is so many events of a key, in the order in which they came."""

    @model_validator(mode="after")
    def _without_gaps(self) -> Self:
        if self.slide is not None and self.slide > self.size:
            raise ValueError("slide must not be longer than size: events between two windows would belong to none")
        return self

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        size_ms = milliseconds(self.size)
        if self.model_fields_set & {"gap", "count"} and len(self.model_fields_set) > 1:
            raise ValueError("sessions have a gap and count windows a count, and neither has anything else")
        if self.zone and self.model_fields_set & {"slide", "offset"}:
            raise ValueError("windows by the calendar of a zone have no slide and no offset")
        if self.zone and self.zone not in available_timezones():
            raise ValueError(f"there is no time zone {self.zone!r}: write one such as Europe/Berlin")
        if self.zone and not has_whole_parts(size_ms):
            raise ValueError("by the calendar a window is whole days, or a part of which a day has a whole number")
        return self

    def windows(self) -> Periodic | Sessions | Counts:
        """What the pure core makes of it."""
        size_ms = milliseconds(self.size)
        if self.gap is not None:
            return Sessions(milliseconds(self.gap))
        if self.count is not None:
            return Counts(self.count)
        if self.zone:
            return Calendar(size_ms, self.zone)
        return Grid(size_ms, milliseconds(self.slide) if self.slide else size_ms, milliseconds(self.offset))


class ReportSettings(_Section):
    """A result table: which events, by which keys, in which windows."""

    keys: tuple[Key, ...] = ()
    """Of `user_id`, `page_url` and `event_type`: the table has a row for each in a window. None: one row per window."""
    where: str = ""
    """Which events belong to it, in SQL over the event's fields, such as `event_type = 'click'`; by default all."""
    measures: tuple[Measure, ...] = ("page_views", "clicks")
    """Of `page_views` and `clicks`, and in windows of time also `unique_users` (by a sketch, to about 1.6 %) and
    `sessions_begun` (sessions of a user whose first event is in the row)."""
    session_gap: PositiveDuration = timedelta(minutes=30)
    """For `sessions_begun`: a session ends when this passed without an event of the user."""
    window: WindowSettings | None = None
    """Its windows; by default those of `window`."""
    allowed_lateness: Duration | None = None
    """Its allowed lateness; by default that of `time.allowed_lateness`."""

    @model_validator(mode="after")
    def _has_a_measure(self) -> Self:
        if not self.measures:
            raise ValueError("a report needs a measure")
        return self


def _report_names(value: dict[str, ReportSettings]) -> dict[str, ReportSettings]:
    for name in value:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in _RESERVED:
            raise ValueError(
                f"a report cannot be named {name!r}: write small letters, digits and _, and none of {_RESERVED}"
            )
    if not value:
        raise ValueError("there must be a report")
    return value


_RESERVED: Final = ("corrections", "dead_letters", "ledger", "panes", "user_totals")
_OUT_OF_THE_BOX: Final = {
    "page_views": ReportSettings(keys=("user_id",)),
    "page_traffic": ReportSettings(keys=("page_url",)),
    "site_traffic": ReportSettings(),
}


class TotalsSettings(_Section):
    """The table `user_totals`: per user, when it was first and last seen, its sessions, page views and clicks."""

    gap: PositiveDuration = timedelta(minutes=30)
    """A session ends when this passed without an event of the user."""
    every: PositiveDuration = timedelta(minutes=1)
    """The table is written anew when the watermark passes a multiple of it, if events came since."""


class BatchSettings(_Section):
    """How the stream is cut into batches."""

    max_records: PositiveInt = 5_000_000
    """Most records in one batch; what is left comes in the next."""
    interval: Duration = timedelta(seconds=1)
    """Time from one batch to the next when there is no backlog."""


class MetricsSettings(_Section):
    """The HTTP endpoint with `/metrics`, `/healthz` and `/readyz`."""

    host: str = "127.0.0.1"
    """Address to listen on; a container needs 0.0.0.0."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9477
    """Port to listen on; 0 takes a free one."""
    max_age: PositiveDuration = timedelta(minutes=5)
    """The service is not ready while its oldest unprocessed record, or an unpublished batch, is older than this."""
    stuck_after: PositiveDuration = timedelta(minutes=5)
    """The service is unhealthy when for so long no batch, no tick and no failed attempt has ended."""


class SparkSettings(_Section):
    """How Spark runs, where `spark-submit` does not already say it."""

    master: str | None = None
    """Spark master; by default what spark-submit gives, else this machine."""
    conf: dict[str, str] = Field(default_factory=dict)
    """Further Spark properties; they win over Tidemark's own."""


class Settings(BaseSettings):
    """The whole tree. `config` names the TOML file."""

    model_config = SettingsConfigDict(
        env_prefix="TIDEMARK_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    warehouse: str = ""
    """Folder or URI under which the Delta tables live."""
    schemas: Path | None = None
    """Folder with the Avro schemas `user_event.avsc`, `user_event.2.avsc`, ...; by default the packaged ones."""
    kafka: KafkaSettings = KafkaSettings()
    time: TimeSettings = TimeSettings()
    window: WindowSettings = WindowSettings()
    """The windows of every report that does not name its own."""
    reports: Annotated[dict[str, ReportSettings], AfterValidator(_report_names)] = _OUT_OF_THE_BOX
    """The result tables by name; by default `page_views` per user, `page_traffic` per page, `site_traffic` in all."""
    totals: TotalsSettings | None = None
    """With it `user_totals` is kept, for all time."""
    batch: BatchSettings = BatchSettings()
    metrics: MetricsSettings = MetricsSettings()
    spark: SparkSettings = SparkSettings()

    @model_validator(mode="after")
    def _measures_of_a_time(self) -> Self:
        for name, report in self.reports.items():
            further = sorted({*report.measures} - {"page_views", "clicks"})
            if further and (report.window or self.window).model_fields_set & {"gap", "count"}:
                raise ValueError(
                    f"report {name} has {' and '.join(further)}: they are counted in windows of time, "
                    "not in sessions or counts of events"
                )
        return self

    def policy(self) -> Policy:
        """What the pure core needs, in milliseconds."""
        return Policy(
            bound_ms=milliseconds(self.time.bound),
            idle_timeout_ms=milliseconds(self.time.idle_timeout),
            max_future_skew_ms=milliseconds(self.time.max_future_skew),
            reports=(*(self._report(name, report) for name, report in self.reports.items()), *self._totals()),
            time_of=self.time.of,
            strategy=self.time.strategy,
            marker=self.time.marker,
            lag_ms=milliseconds(self.time.lag),
            all_idle=self.time.all_idle,
        )

    def _totals(self) -> list[Report]:
        if self.totals is None:
            return []
        return [Report("user_totals", Totals(milliseconds(self.totals.gap), milliseconds(self.totals.every)), 0)]

    def _report(self, name: str, report: ReportSettings) -> Report:
        lateness = self.time.allowed_lateness if report.allowed_lateness is None else report.allowed_lateness
        return Report(
            name=name,
            windows=(report.window or self.window).windows(),
            allowed_lateness_ms=milliseconds(lateness),
            keys=tuple(sorted(set(report.keys))),
            where=report.where,
            measures=tuple(measure for measure in get_args(Measure) if measure in report.measures),
            session_gap_ms=milliseconds(report.session_gap) if "sessions_begun" in report.measures else 0,
        )
