"""The tree of all settings, immutable: flag > environment > file > default.

In the environment `TIDEMARK_KAFKA__TOPIC` is `topic` under `[kafka]` in a TOML file and `--kafka.topic` as a flag.
A text in the annotation of a type, such as `FOLDER`, is the form of the value in help.
"""

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from tidemark.command_line.printable import quoted
from tidemark.kafka_access.addresses import address
from tidemark.kafka_access.settings import JavaAccess
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.dimensions import MOST, Dimension
from tidemark.pipeline.event_time.field_measures import FieldMeasure
from tidemark.pipeline.event_time.malformed import MalformedLimit
from tidemark.pipeline.event_time.policy import AllIdle, JudgedBy, Policy, TimeOf
from tidemark.pipeline.event_time.reports import KEYS, Report
from tidemark.pipeline.event_time.strategies import Bounded, Punctuated, Strategy, TimeLag
from tidemark.pipeline.event_time.table_retention import TableRetention
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.kinds import AnyWindows
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.logs import LogFormat
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.settings.dashboard_settings import DashboardSettings
from tidemark.pipeline.settings.durations import Duration, DurationOrOff, PositiveDuration, milliseconds
from tidemark.pipeline.settings.measure_settings import (
    MeasureSettings,
    measure_names,
    require_measures,
    require_room,
    require_small_batches,
)
from tidemark.pipeline.settings.personal_fields import (
    require_no_lists,
    require_no_sessions,
    require_only_pseudonyms,
    where_of,
)
from tidemark.pipeline.settings.report_settings import (
    DEFAULT_REPORTS,
    Count,
    DimensionSettings,
    PathOrDimension,
    ReportSettings,
    Section,
    TotalsSettings,
    WindowSettings,
    dimension_names,
    report_names,
)
from tidemark.pipeline.settings.schema_settings import SchemasSettings
from tidemark.pipeline.settings.site_settings import (
    NO_SITE,
    SiteReports,
    SiteSettings,
    referrer_of,
    require_no_site_names,
    site_reports,
)
from tidemark.pipeline.settings.start_position import parse_start_position
from tidemark.pipeline.settings.top_values import require_rankable
from tidemark.pipeline.settings.warehouse import Warehouse
from tidemark.pipeline.settings.window_limits import check_windows

PREFIX: Final = "TIDEMARK_"
"""Environment variables with settings start with it."""


def _checked_start(value: str) -> str:
    """Returns the text of a start position. Raises ValueError if it is not a position."""
    parse_start_position(value)
    return value


class KafkaSettings(JavaAccess):
    """The topic with the events, and its brokers."""

    bootstrap_servers: Annotated[str, address("set kafka.sasl"), "HOST:PORT,..."] = ""
    """Brokers to ask first, `host:port,host:port`."""
    topic: str = ""
    """The topic of click and visit events."""
    start: Annotated[str, AfterValidator(_checked_start), "POSITION"] = "earliest"
    """Where a new warehouse starts: `earliest`, `latest`, `timestamp:<ISO time>`, `group:<id>` (a consumer group's
    offsets) or `offsets:{"<partition>": <offset>, ...}`. An existing warehouse resumes from its ledger."""
    group_id: str = "tidemark"
    """Consumer group to which committed offsets are mirrored, for tools that monitor lag. It is never read."""
    on_data_loss: Literal["stop", "record"] = "stop"
    """If records were deleted before they were read: `stop`, or `record` the loss in the ledger and continue."""
    tombstones: Literal["malformed", "left_out"] = "malformed"
    """Records without a value, by which a compacted topic deletes a key: `malformed`, or `left_out` of everything but
    the ledger."""
    connect_timeout: PositiveDuration = timedelta(minutes=1)
    """How long `run` waits at its start for a broker that does not answer."""


class TimeSettings(Section):
    """Event time: watermark and lateness."""

    of: TimeOf = TimeOf.EVENT
    """Time of a record: `event` (its own), `ingestion` (Kafka's timestamp), `processing` (the service's clock)."""
    strategy: Literal["bounded", "punctuated", "time_lag"] = "bounded"
    """The watermark follows every event (`bounded`), markers (`punctuated`) or the clock (`time_lag`)."""
    marker: str = ""
    """With `punctuated`: condition for a marker, in SQL over the event's fields, such as `event_type = 'click'`."""
    lag: Duration = timedelta(minutes=1)
    """With `time_lag`: difference between the clock and the watermark."""
    all_idle: AllIdle = AllIdle.HOLD
    """While every partition is idle the watermark stays (`hold`), or follows the clock minus the bound (`advance`)."""
    judged: JudgedBy = JudgedBy.BATCH
    """Which watermark decides what is late: that from before the record's batch (`batch`), or that at its arrival
    (`arrival`): then the same topic gives the same tables, however it is cut into batches."""
    settling: Duration = timedelta(milliseconds=200)
    """With `judged` arrival: how long after its Kafka timestamp a record may become visible, which a producer's
    batching delays. Batches end that long before the clock; what comes later is judged as if it arrived later."""
    interval: PositiveDuration = timedelta(seconds=1)
    """How often idleness and the clock are checked while no data arrives; with data every batch checks them."""
    bound: Duration = timedelta(seconds=10)
    """Out-of-orderness bound: the watermark trails the newest event by this much."""
    allowed_lateness: Duration = timedelta(minutes=1)
    """How long, in event time, a window accepts late events after it fired; it fires again for them."""
    idle_timeout: PositiveDuration = timedelta(seconds=30)
    """A partition without events for this long is idle, and does not hold back the watermark."""
    max_future_skew: Duration = timedelta(minutes=5)
    """How far an event time may be ahead of its arrival: the Kafka timestamp, or the clock if that is wrong."""
    max_ahead_of_clock: DurationOrOff = timedelta(minutes=5)
    """How far a time may be ahead of the service's clock, or `off`; Kafka timestamps may be wrong, too."""

    max_age: DurationOrOff = timedelta(days=3650)
    """How far an event time may be before its arrival, or `off`; a wrong unit of time shows as decades. A Kafka
    timestamp further from the service's clock is wrong: the clock is the arrival."""

    @model_validator(mode="after")
    def _marker_belongs_to_punctuated(self) -> Self:
        if (self.strategy == "punctuated") != bool(self.marker):
            raise ValueError("strategy punctuated and a marker belong together: set both or neither")
        return self

    @model_validator(mode="after")
    def _arrival_judges_times_that_stay(self) -> Self:
        if self.judged is JudgedBy.ARRIVAL and self.of is TimeOf.PROCESSING:
            raise ValueError(
                "judged arrival gives the same tables each time the topic is read, but with of processing the time of "
                "a record is when it was read: set judged to batch, or of to ingestion"
            )
        return self

    def watermark_strategy(self) -> Strategy:
        """Returns the watermark strategy for the event-time core."""
        bound_ms = milliseconds(self.bound)
        if self.strategy == "punctuated":
            return Punctuated(self.marker, bound_ms)
        return TimeLag(milliseconds(self.lag)) if self.strategy == "time_lag" else Bounded(bound_ms)


class BatchSettings(Section):
    """How the stream is divided into batches."""

    max_records: Count = 5_000_000
    """Maximum number of records in a batch."""
    interval: Duration = timedelta(seconds=1)
    """Time between the starts of batches without a backlog."""


class DeadLetterSettings(Section):
    """Stops the service when too many records are malformed."""

    limit: Annotated[float, Field(gt=0, le=1)] = 0.9
    """The service stops when a larger share of the last records is malformed; 1 never stops it."""
    window: Count = 10_000
    """About how many of the last records count; before that many records the limit does not apply."""

    def malformed(self) -> MalformedLimit:
        """Returns the limit for the event-time core."""
        return MalformedLimit(self.limit, self.window)


class RetentionSettings(Section):
    """How long a table retains earlier versions and old rows."""

    time_travel: PositiveDuration | None = None
    """How long earlier versions can be read; by default a day, for dead letters half an hour."""
    rows: PositiveDuration | None = None
    """How long rows are retained, by default forever: by the watermark for reports, by the clock for dead letters."""


class PrivacySettings(Section):
    """The storage of user ids in the tables."""

    pseudonym_key_file: Path | None = None
    """File with a key: tables store a keyed hash of user ids, and rejected records without their bytes."""


class MetricsSettings(Section):
    """The HTTP endpoint with `/metrics`, `/healthz` and `/readyz`."""

    host: str = "127.0.0.1"
    """Address to listen on; a container needs 0.0.0.0."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9477
    """Port to listen on; 0 takes a free port."""
    certificate: Path | None = None
    """PEM file of the certificate chain; with certificate and key the endpoint uses TLS."""
    key: Path | None = None
    """PEM file of the certificate's private key."""
    username: str | None = None
    """User of `/metrics`; needs a password. `/healthz` and `/readyz` stay open, for probes."""
    password: SecretStr | None = None
    """Password of that user."""
    password_file: Path | None = None
    """File with that password."""
    max_age: PositiveDuration = timedelta(minutes=5)
    """Not ready while an unprocessed record or unpublished batch is older, or the brokers were silent for longer."""
    stuck_after: PositiveDuration = timedelta(minutes=5)
    """Unhealthy if no batch, tick or failed attempt ended for this long; a start may take twelve times as long."""

    @model_validator(mode="after")
    def _in_pairs(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key belong together: set both or neither")
        if [self.password, self.password_file].count(None) != (2 if self.username is None else 1):
            raise ValueError("username and one of password and password_file belong together: set both or neither")
        return self


class SparkSettings(Section):
    """How Spark runs, unless `spark-submit` sets it."""

    master: Annotated[str, address("set spark.conf")] | None = None
    """Spark master; by default the master of spark-submit, else this machine."""
    conf: dict[str, str] = Field(default_factory=dict)
    """Further Spark properties; they override Tidemark's own."""
    large: Literal["auto", "driver", "executors"] = "auto"
    """Where large jobs on tables run: `driver`, `executors`, or `auto` (executors only if they are on this machine)."""
    large_from: Count = 20_000_000
    """A job that reads at least this many rows is large."""


class Settings(BaseSettings):
    """The tree of settings."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    warehouse: Warehouse = ""
    """Folder or URI of the Delta tables."""
    log_format: LogFormat = "console"
    """Format of log lines on standard error: `console` for people, or `json`, an object per line."""
    kafka: KafkaSettings = KafkaSettings()
    schemas: SchemasSettings = SchemasSettings()
    time: TimeSettings = TimeSettings()
    window: WindowSettings = WindowSettings()
    """The windows of every report without windows of its own."""
    deduplicate: Literal["off", "event_id"] = "off"
    """With `event_id` duplicates of an event are dropped while its windows are open."""
    dimensions: Annotated[dict[str, PathOrDimension], AfterValidator(dimension_names), "NAME=FIELD|JSON"] = {}
    """Further keys for reports, by name: a field such as `context.campaign.name`, or SQL over fields with a type."""
    measures: Annotated[dict[str, MeasureSettings], AfterValidator(measure_names), "NAME=JSON"] = {}
    """Further measures for reports, by name: a function of a field, such as `{"sum": "price", "digits": 2}`."""
    reports: Annotated[dict[str, ReportSettings], AfterValidator(report_names), "NAME=JSON"] = DEFAULT_REPORTS
    """Result tables by name; by default `page_views` per user, `page_traffic` per page, `site_traffic` for the site."""
    site: SiteSettings | None = None
    """Adds the reports `site_*`, which pages about visitors need."""
    totals: TotalsSettings | None = None
    """Enables the table `user_totals`, with totals since the first event."""
    batch: BatchSettings = BatchSettings()
    dead_letters: DeadLetterSettings = DeadLetterSettings()
    retention: dict[str, RetentionSettings] = {}
    """By table (a report, `user_totals`, `dead_letters`): how long earlier versions and old rows are retained."""
    privacy: PrivacySettings = PrivacySettings()
    metrics: MetricsSettings = MetricsSettings()
    dashboard: DashboardSettings = DashboardSettings()
    spark: SparkSettings = SparkSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        *_: Any,
        **__: Any,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leaves out an environment without settings: pydantic would look for each section in each variable."""
        is_set = any(name.upper().startswith(PREFIX) for name in os.environ)
        return (init_settings, env_settings) if is_set else (init_settings,)

    @cached_property
    def _site(self) -> SiteReports:
        if self.site is None:
            return NO_SITE
        return site_reports(self.site, self.dimensions, self.referrer, is_json=self.schemas.format == "json")

    @property
    def referrer(self) -> str:
        """The field or dimension with the page before, of which `[site]` makes reports; empty without one."""
        has_own_fields = not self.schemas.mapping.fields().are_default
        return "" if self.site is None else referrer_of(self.site, has_own_fields=has_own_fields)

    @property
    def every_report(self) -> Mapping[str, ReportSettings]:
        """The reports, and those of `[site]`."""
        return {**self.reports, **self._site.reports}

    @property
    def every_dimension(self) -> Mapping[str, DimensionSettings]:
        """The dimensions, and those of `[site]`."""
        return {**self.dimensions, **self._site.dimensions}

    @property
    def every_measure(self) -> Mapping[str, MeasureSettings]:
        """The measures of fields, and those of `[site]`."""
        return {**self.measures, **self._site.measures}

    @model_validator(mode="after")
    def _names_are_not_of_the_site(self) -> Self:
        if self.site is not None:
            require_no_site_names("reports", self.reports, self._site.reports)
            texts = self._site.measures.keys() | self._site.dimensions.keys()
            require_no_site_names("dimensions", self.dimensions, texts - {self.site.campaign})
            require_no_site_names("measures", self.measures, texts)
        return self

    @model_validator(mode="after")
    def _measures_exist(self) -> Self:
        own = self._own_measures()
        for name, report in self.every_report.items():
            require_measures(name, report, own)
            require_room(name, {*report.keys}, self._measures_of(report))
        require_small_batches(self.every_report, own, self.batch.max_records)
        if both := sorted(self.measures.keys() & self.dimensions.keys()):
            raise ValueError(f"{both[0]} is a measure and a dimension: rename one of the two")
        return self

    @model_validator(mode="after")
    def _measures_of_a_time(self) -> Self:
        for name, report in self.every_report.items():
            fixed = {*report.measures} - self.every_measure.keys()
            of_visits = sorted(measure for measure in fixed if MEASURES[measure].is_of_visits)
            if of_visits and not isinstance(self._windows(report), Sessions):
                raise ValueError(
                    f"report {name} has {' and '.join(of_visits)}, which only sessions have: set window.gap"
                )
            time_measures = sorted(measure for measure in fixed - {*of_visits} if not MEASURES[measure].is_anywhere)
            if time_measures and not self._windows(report).ends_are_known:
                raise ValueError(
                    f"report {name} has {' and '.join(time_measures)}: they need windows of time, "
                    "not sessions or counts of events"
                )
        return self

    @model_validator(mode="after")
    def _keys_exist(self) -> Self:
        for name, report in self.every_report.items():
            for key in report.keys:
                if key not in KEYS and key not in self.every_dimension:
                    raise ValueError(
                        f"report {name} has the key {quoted(key)}: choose from "
                        f"{', '.join((*KEYS, *self.every_dimension))}, or add it to dimensions"
                    )
            if (count := len({*report.keys} - {*KEYS})) > MOST:
                raise ValueError(f"report {name} has {count} dimensions, and may have {MOST}")
        return self

    @model_validator(mode="after")
    def _windows_within_limits(self) -> Self:
        for name, report in self.every_report.items():
            check_windows(self._report(name, report))
            require_rankable(self._report(name, report))
        return self

    @model_validator(mode="after")
    def _ids_can_be_forgotten(self) -> Self:
        counts = sorted(name for name, report in self.every_report.items() if not self._windows(report).by_time)
        if self.deduplicate != "off" and counts:
            raise ValueError(
                f"deduplicate cannot be combined with {' and '.join(counts)}: no event is too late for count windows, "
                "so event ids could never be removed"
            )
        return self

    @model_validator(mode="after")
    def _arrival_counts_the_first_of_duplicates(self) -> Self:
        if self.deduplicate != "off" and self.time.judged is JudgedBy.ARRIVAL:
            raise ValueError(
                "deduplicate cannot be combined with time.judged = arrival: which of several records with an id counts "
                "is decided before it is known which of them are late"
            )
        return self

    @model_validator(mode="after")
    def _retention_of_tables(self) -> Self:
        for name, keep in self.retention.items():
            if name not in {*self.every_report, UserTotals.name, "dead_letters"}:
                raise ValueError(
                    f"retention.{name}: there is no such table; name a report, user_totals or dead_letters"
                )
            report = self.every_report.get(name)
            has_age = self._windows(report).ends_are_known if report else name == "dead_letters"
            if keep.rows is not None and not has_age:
                raise ValueError(f"retention.{name}.rows: only rows of windows of time have an age")
        return self

    @model_validator(mode="after")
    def _conditions_know_no_pseudonyms(self) -> Self:
        conditions = {f"reports.{name}.where": report.where for name, report in self.every_report.items()}
        conditions |= {f"dimensions.{name}": one.sql or one.path for name, one in self.every_dimension.items()}
        conditions |= {f"measures.{name}": one.sql or one.path for name, one in self._own_measures().items()}
        for name, sql in {**conditions, "time.marker": self.time.marker}.items():
            if self.privacy.pseudonym_key_file and re.search(rf"\b{c.USER_ID}\b", sql, re.IGNORECASE):
                raise ValueError(
                    f"{name} names {c.USER_ID}, but privacy.pseudonym_key_file replaces user ids by pseudonyms"
                )
        return self

    @model_validator(mode="after")
    def _personal_fields_are_hidden_and_erased(self) -> Self:
        require_no_sessions(self.reports, self.dimensions)
        require_no_lists(self.dimensions, self.measures, self.schemas.mapping.fields())
        if self.privacy.pseudonym_key_file:
            conditions = {**where_of(self.reports), "time.marker": self.time.marker}
            require_only_pseudonyms(self.dimensions, self.measures, conditions, self.schemas.mapping.fields())
        return self

    def keep_by_table(self) -> dict[str, TableRetention]:
        """Returns how long tables retain old data, in milliseconds, by table; only tables with a setting."""
        return {
            name: TableRetention(
                *(None if time is None else milliseconds(time) for time in (keep.time_travel, keep.rows))
            )
            for name, keep in self.retention.items()
        }

    def policy(self) -> Policy:
        """Returns the policy for the event-time core, in milliseconds."""
        return Policy(
            strategy=self.time.watermark_strategy(),
            idle_timeout_ms=milliseconds(self.time.idle_timeout),
            max_future_skew_ms=milliseconds(self.time.max_future_skew),
            reports=tuple(self._report(name, report) for name, report in self.every_report.items()),
            totals=UserTotals(*map(milliseconds, (self.totals.gap, self.totals.every))) if self.totals else None,
            time_of=self.time.of,
            all_idle=self.time.all_idle,
            judged=self.time.judged,
            settling_ms=milliseconds(self.time.settling),
            max_age_ms=None if self.time.max_age is None else milliseconds(self.time.max_age),
            caps_watermark=self.time.max_ahead_of_clock is not None and self.time.of is not TimeOf.PROCESSING,
            max_ahead_ms=None if self.time.max_ahead_of_clock is None else milliseconds(self.time.max_ahead_of_clock),
            deduplicate=self.deduplicate != "off",
            leaves_out_kinds=self.schemas.mapping.other_kinds == "left_out",
            has_other_kinds=self.schemas.mapping.fields().has_other_kinds,
            leaves_out_tombstones=self.kafka.tombstones == "left_out",
        )

    def _own_measures(self) -> dict[str, FieldMeasure]:
        return {name: measure.definition(name) for name, measure in self.every_measure.items()}

    def _measures_of(self, report: ReportSettings) -> list[FieldMeasure]:
        """Returns the measures of fields of a report, in the order of their names."""
        own = sorted({*report.measures} & self.every_measure.keys())
        return [self.every_measure[name].definition(name) for name in own]

    def _windows(self, report: ReportSettings) -> AnyWindows:
        return (report.window or self.window).windows()

    def _report(self, name: str, report: ReportSettings) -> Report:
        lateness = self.time.allowed_lateness if report.allowed_lateness is None else report.allowed_lateness
        of_sessions = any(measure.of_sessions for measure in MEASURES.values() if measure.name in report.measures)
        dimensions = sorted({*report.keys} & self.every_dimension.keys())
        own = self._measures_of(report)
        return Report(
            name=name,
            windows=self._windows(report),
            allowed_lateness_ms=milliseconds(lateness),
            keys=tuple(sorted(set(report.keys))),
            where=report.where,
            measures=(
                *(measure for measure in MEASURES if measure in report.measures),
                *sorted(column for measure in own for column in measure.measure_names),
            ),
            session_gap_ms=milliseconds(report.session_gap) if of_sessions else 0,
            dimensions=tuple(Dimension(name, **self.every_dimension[name].model_dump()) for name in dimensions),
            field_measures=tuple(own),
        )
