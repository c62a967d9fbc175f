"""Every setting, once, in one frozen tree: flag > environment > file > default.

`TIDEMARK_KAFKA__TOPIC=clicks` in the environment is `topic` under `[kafka]` in a TOML file and `--kafka.topic` as a
flag. Durations are written `500ms`, `30s`, `10m`, `12h`, `7d`.
"""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, model_validator
from pydantic_settings import (
    BaseSettings,
    SettingsConfigDict,
)

from pipeline.begin import parse_begin
from pipeline.time.verdicts import AllIdle, Policy, Strategy, TimeOf

_UNITS: Final = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _parse_duration(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\s*(\d+)\s*(ms|s|m|h|d)\s*", value)
    if not found:
        raise ValueError(f"{value!r} is not a duration: write a whole number and ms, s, m, h or d, such as 30s or 10m")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _not_negative(value: timedelta) -> timedelta:
    if value < timedelta(0):
        raise ValueError("a duration cannot be negative")
    return value


def _positive(value: timedelta) -> timedelta:
    if value < timedelta(milliseconds=1):
        raise ValueError("must be at least 1ms")
    return value


def _start(value: str) -> str:
    parse_begin(value)
    return value


def milliseconds(value: timedelta) -> int:
    """A duration as whole milliseconds, the unit used everywhere inside."""
    return value // timedelta(milliseconds=1)


Duration = Annotated[timedelta, BeforeValidator(_parse_duration), AfterValidator(_not_negative)]
PositiveDuration = Annotated[timedelta, BeforeValidator(_parse_duration), AfterValidator(_positive)]


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
    """The window of `page_views`."""

    size: PositiveDuration = timedelta(minutes=1)
    """Length of a window."""
    slide: PositiveDuration | None = None
    """Time from the begin of one window to the next; without it windows tumble, one after the other."""
    offset: Duration = timedelta(0)
    """How far windows are shifted: with a size of 1d and an offset of 6h days begin at 06:00 UTC."""

    @model_validator(mode="after")
    def _without_gaps(self) -> Self:
        if self.slide is not None and self.slide > self.size:
            raise ValueError("slide must not be longer than size: events between two windows would belong to none")
        return self


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
    """The service is unhealthy when its oldest unprocessed record is older than this."""


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
    batch: BatchSettings = BatchSettings()
    metrics: MetricsSettings = MetricsSettings()
    spark: SparkSettings = SparkSettings()

    def policy(self) -> Policy:
        """What the pure core needs, in milliseconds."""
        return Policy(
            bound_ms=milliseconds(self.time.bound),
            allowed_lateness_ms=milliseconds(self.time.allowed_lateness),
            idle_timeout_ms=milliseconds(self.time.idle_timeout),
            max_future_skew_ms=milliseconds(self.time.max_future_skew),
            window_ms=milliseconds(self.window.size),
            slide_ms=milliseconds(self.window.slide) if self.window.slide else None,
            offset_ms=milliseconds(self.window.offset),
            time_of=self.time.of,
            strategy=self.time.strategy,
            marker=self.time.marker,
            lag_ms=milliseconds(self.time.lag),
            all_idle=self.time.all_idle,
        )
