"""Every setting, once, in one frozen tree: flag > environment > file > default.

In the environment `TIDEMARK_KAFKA__TOPIC` is `topic` under `[kafka]` in a TOML file and `--kafka.topic` as a flag.
A text beside a type, such as `FOLDER`, is how help tells the form of a value.
"""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, PositiveInt, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from kafka_access.settings import JavaAccess
from pipeline import columns as c
from pipeline.event_time.keep import Keep
from pipeline.event_time.malformed import MalformedLimit
from pipeline.event_time.policy import AllIdle, Policy, TimeOf
from pipeline.event_time.reports import Report
from pipeline.event_time.strategies import Bounded, Punctuated, Strategy, TimeLag
from pipeline.event_time.user_totals import UserTotals
from pipeline.event_time.windows.base import Windows
from pipeline.logs import LogFormat
from pipeline.measures import MEASURES
from pipeline.settings.durations import Duration, DurationOrOff, PositiveDuration, milliseconds
from pipeline.settings.report_settings import (
    OUT_OF_THE_BOX,
    ReportSettings,
    Section,
    TotalsSettings,
    WindowSettings,
    report_names,
)
from pipeline.settings.schema_settings import SchemasSettings
from pipeline.settings.start_position import parse_start_position


def _start(value: str) -> str:
    parse_start_position(value)
    return value


class KafkaSettings(JavaAccess):
    """The topic with the events, and its brokers."""

    bootstrap_servers: Annotated[str, "HOST:PORT,..."] = ""
    """Brokers to ask first, `host:port,host:port`."""
    topic: str = ""
    """The topic of click and visit events."""
    start: Annotated[str, AfterValidator(_start), "POSITION"] = "earliest"
    """Where a new warehouse begins: `earliest`, `latest`, `timestamp:<ISO time>`, `group:<id>` (a consumer group's
    offsets) or `offsets:{"<partition>": <offset>, ...}`. An existing one goes on from its ledger."""
    group_id: str = "tidemark"
    """Consumer group that mirrors the committed offsets, for ordinary lag tools. Nothing is read from it."""
    on_data_loss: Literal["stop", "record"] = "stop"
    """Where records were deleted before they were read: `stop`, or `record` what is lost in the ledger and go on."""
    connect_timeout: PositiveDuration = timedelta(minutes=1)
    """How long a start waits for a broker that does not answer."""


class TimeSettings(Section):
    """Event time: how late is late."""

    of: TimeOf = TimeOf.EVENT
    """Which time of a record counts: `event` (its own), `ingestion` (Kafka's), `processing` (the service's clock)."""
    strategy: Literal["bounded", "punctuated", "time_lag"] = "bounded"
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
    max_ahead_of_clock: DurationOrOff = timedelta(minutes=5)
    """How far ahead of the service's clock the time that counts may be, or `off`: a Kafka timestamp may be as wrong."""

    @model_validator(mode="after")
    def _marker_belongs_to_punctuated(self) -> Self:
        if (self.strategy == "punctuated") != bool(self.marker):
            raise ValueError("strategy punctuated and a marker belong together: set both or neither")
        return self

    def watermark_strategy(self) -> Strategy:
        """The strategy as the pure core knows it."""
        bound_ms = milliseconds(self.bound)
        if self.strategy == "punctuated":
            return Punctuated(self.marker, bound_ms)
        return TimeLag(milliseconds(self.lag)) if self.strategy == "time_lag" else Bounded(bound_ms)


class BatchSettings(Section):
    """How the stream is cut into batches."""

    max_records: PositiveInt = 5_000_000
    """Most records in one batch; what is left comes in the next."""
    interval: Duration = timedelta(seconds=1)
    """Time from one batch to the next when there is no backlog."""


class DeadLetterSettings(Section):
    """When so many records are malformed that something else must be wrong."""

    limit: Annotated[float, Field(gt=0, le=1)] = 0.9
    """The service stops when a larger share of the last records is malformed; 1 never stops it."""
    window: PositiveInt = 10_000
    """About how many of the last records count; before so many were seen the limit does not apply."""

    def malformed(self) -> MalformedLimit:
        """The limit as the pure core knows it."""
        return MalformedLimit(self.limit, self.window)


class RetentionSettings(Section):
    """How long a table keeps what is old."""

    time_travel: PositiveDuration | None = None
    """How long its earlier versions can be read, by default a day, but half an hour of dead letters."""
    rows: PositiveDuration | None = None
    """How long its rows are kept, for ever by default: of a report by the watermark, of dead letters by the clock."""


class PrivacySettings(Section):
    """What the tables know of persons."""

    pseudonym_key_file: Path | None = None
    """A file with a key: every table has users by a keyed hash of their ids, and rejected records without bytes."""


class MetricsSettings(Section):
    """The HTTP endpoint with `/metrics`, `/healthz` and `/readyz`."""

    host: str = "127.0.0.1"
    """Address to listen on; a container needs 0.0.0.0."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9477
    """Port to listen on; 0 takes a free one."""
    certificate: Path | None = None
    """With it and its key the endpoint speaks TLS: PEM file of the certificate, and those up to the authority."""
    key: Path | None = None
    """PEM file of the certificate's key."""
    username: str | None = None
    """With it and its password `/metrics` asks for both; `/healthz` and `/readyz` do not, for probes have none."""
    password: SecretStr | None = None
    """The password that goes with the name."""
    password_file: Path | None = None
    """A file with that password."""
    max_age: PositiveDuration = timedelta(minutes=5)
    """Not ready while the oldest unprocessed record, an unpublished batch, or the brokers' silence is older."""
    stuck_after: PositiveDuration = timedelta(minutes=5)
    """The service is unhealthy when for so long no batch, no tick and no failed attempt has ended."""

    @model_validator(mode="after")
    def _in_pairs(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key belong together: set both or neither")
        if [self.password, self.password_file].count(None) != (2 if self.username is None else 1):
            raise ValueError("username and one of password and password_file belong together: set both or neither")
        return self


class DashboardSettings(Section):
    """The web page of `tidemark dashboard`."""

    host: str = "127.0.0.1"
    """Address to listen on; any that other machines reach needs a token."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9478
    """Port to listen on; 0 takes a free one."""
    token: SecretStr | None = None
    """With it the page asks for it; at least 16 characters."""
    token_file: Path | None = None
    """A file with that token."""


class SparkSettings(Section):
    """How Spark runs, where `spark-submit` does not already say it."""

    master: str | None = None
    """Spark master; by default what spark-submit gives, else this machine."""
    conf: dict[str, str] = Field(default_factory=dict)
    """Further Spark properties; they win over Tidemark's own."""
    large: Literal["auto", "driver", "executors"] = "auto"
    """Who does large jobs on tables: `driver`, `executors`, or `auto`: these only where they are on this machine."""
    large_from: PositiveInt = 20_000_000
    """From how many rows on that are read for it a job is large."""


class Settings(BaseSettings):
    """The whole tree. `config` names the TOML file."""

    model_config = SettingsConfigDict(
        env_prefix="TIDEMARK_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    warehouse: Annotated[str, "FOLDER"] = ""
    """Folder or URI under which the Delta tables live."""
    log_format: LogFormat = "console"
    """How the service speaks on standard error: lines for people, or a JSON object a line."""
    kafka: KafkaSettings = KafkaSettings()
    schemas: SchemasSettings = SchemasSettings()
    time: TimeSettings = TimeSettings()
    window: WindowSettings = WindowSettings()
    """The windows of every report that does not name its own."""
    deduplicate: Literal["off", "event_id"] = "off"
    """With `event_id` an event is counted once, however often it is sent, as long as its windows are open."""
    reports: Annotated[dict[str, ReportSettings], AfterValidator(report_names), "NAME=JSON"] = OUT_OF_THE_BOX
    """The result tables by name; by default `page_views` per user, `page_traffic` per page, `site_traffic` in all."""
    totals: TotalsSettings | None = None
    """With it `user_totals` is kept, for all time."""
    batch: BatchSettings = BatchSettings()
    dead_letters: DeadLetterSettings = DeadLetterSettings()
    retention: dict[str, RetentionSettings] = {}
    """By table (a report, `user_totals`, `dead_letters`): how long it keeps earlier versions and old rows."""
    privacy: PrivacySettings = PrivacySettings()
    metrics: MetricsSettings = MetricsSettings()
    dashboard: DashboardSettings = DashboardSettings()
    spark: SparkSettings = SparkSettings()

    @model_validator(mode="after")
    def _measures_of_a_time(self) -> Self:
        for name, report in self.reports.items():
            further = sorted(measure for measure in {*report.measures} if not MEASURES[measure].is_anywhere)
            if further and not self._windows(report).ends_are_known:
                raise ValueError(
                    f"report {name} has {' and '.join(further)}: they are counted in windows of time, "
                    "not in sessions or counts of events"
                )
        return self

    @model_validator(mode="after")
    def _ids_can_be_forgotten(self) -> Self:
        counts = sorted(name for name, report in self.reports.items() if not self._windows(report).by_time)
        if self.deduplicate != "off" and counts:
            raise ValueError(
                f"deduplicate cannot be set beside {' and '.join(counts)}: no event is ever too late for windows of a "
                "count, so no id could ever be forgotten"
            )
        return self

    @model_validator(mode="after")
    def _retention_of_tables(self) -> Self:
        for name, keep in self.retention.items():
            if name not in {*self.reports, UserTotals.name, "dead_letters"}:
                raise ValueError(
                    f"retention.{name}: there is no such table; name a report, user_totals or dead_letters"
                )
            report = self.reports.get(name)
            has_age = self._windows(report).ends_are_known if report else name == "dead_letters"
            if keep.rows is not None and not has_age:
                raise ValueError(
                    f"retention.{name}.rows: only windows of time have an age by which their rows can be removed"
                )
        return self

    @model_validator(mode="after")
    def _conditions_know_no_pseudonyms(self) -> Self:
        conditions = {f"reports.{name}.where": report.where for name, report in self.reports.items()}
        for name, sql in {**conditions, "time.marker": self.time.marker}.items():
            if self.privacy.pseudonym_key_file and re.search(rf"\b{c.USER_ID}\b", sql, re.IGNORECASE):
                raise ValueError(f"{name} names {c.USER_ID}, of which there are only pseudonyms (privacy)")
        return self

    def keep_by_table(self) -> dict[str, Keep]:
        """How long tables keep what is old, in milliseconds, by the tables that the settings name."""
        return {
            name: Keep(*(None if time is None else milliseconds(time) for time in (keep.time_travel, keep.rows)))
            for name, keep in self.retention.items()
        }

    def policy(self) -> Policy:
        """The policy of the pure core, in milliseconds."""
        return Policy(
            strategy=self.time.watermark_strategy(),
            idle_timeout_ms=milliseconds(self.time.idle_timeout),
            max_future_skew_ms=milliseconds(self.time.max_future_skew),
            reports=tuple(self._report(name, report) for name, report in self.reports.items()),
            totals=UserTotals(*map(milliseconds, (self.totals.gap, self.totals.every))) if self.totals else None,
            time_of=self.time.of,
            all_idle=self.time.all_idle,
            max_ahead_ms=None if self.time.max_ahead_of_clock is None else milliseconds(self.time.max_ahead_of_clock),
            deduplicate=self.deduplicate != "off",
        )

    def _windows(self, report: ReportSettings) -> Windows:
        return (report.window or self.window).windows()

    def _report(self, name: str, report: ReportSettings) -> Report:
        lateness = self.time.allowed_lateness if report.allowed_lateness is None else report.allowed_lateness
        of_sessions = any(MEASURES[measure].of_sessions for measure in report.measures)
        return Report(
            name=name,
            windows=self._windows(report),
            allowed_lateness_ms=milliseconds(lateness),
            keys=tuple(sorted(set(report.keys))),
            where=report.where,
            measures=tuple(measure for measure in MEASURES if measure in report.measures),
            session_gap_ms=milliseconds(report.session_gap) if of_sessions else 0,
        )
