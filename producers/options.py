"""The command line of `producers simulate`: every option, its unit and its default."""

from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from tidemark.command_line.times import duration_ms, instant_ms
from tidemark.command_line.types import Parsed, named
from tidemark.command_line.verbs import SectionOption
from tidemark.kafka_access.addresses import without_credentials
from tidemark.producers.access import access_options
from tidemark.producers.delivery import Delivery
from tidemark.producers.encode import ENCODERS
from tidemark.producers.kinds import MALFORMED, Kind
from tidemark.producers.units import length_ms, rate, share, whole

KAFKA: Final = "Kafka"
"""Heading of the options that name brokers and topic."""
_NAMES: Final = ",".join(kind.name.lower() for kind in MALFORMED)


def _kinds(text: str) -> tuple[Kind, ...]:
    known = {kind.name.lower(): kind for kind in MALFORMED}
    for name in text.split(","):
        if name not in known:
            raise ValueError(f"{name!r} is not a kind of malformed value; choose from {_NAMES}")
    return tuple(known[name] for name in text.split(","))


_BROKERS: Final = Parsed("HOST:PORT,...", partial(without_credentials, instead="set kafka.sasl"))
_WHOLE: Final = Parsed("COUNT", whole)
_DURATION: Final = Parsed("DURATION", duration_ms)
_LENGTH: Final = Parsed("DURATION", length_ms)
_RATE: Final = Parsed("PER_SECOND", rate)
_SHARE: Final = Parsed("SHARE", share)
_INSTANT: Final = Parsed("TIME", instant_ms)
_FILE: Final = click.Path(path_type=Path)


def broker_options() -> list[click.Option]:
    """Returns the options of every verb that sends: where to, and whether the topic may be created."""
    option = partial(SectionOption, section=KAFKA)
    return [
        option(["--bootstrap-servers"], default="localhost:9092", type=_BROKERS, help="Kafka brokers."),
        option(["--topic"], default="user-events", type=named("NAME"), help="Topic to send to."),
        option(["--create-topic"], is_flag=True, help="Create the topic if it does not exist."),
        option(["--partitions"], type=_WHOLE, default="4", help="Number of partitions of a created topic."),
    ]


def batch_options() -> list[click.Option]:
    """Returns the options of every verb that sends in batches."""
    option = partial(SectionOption, section=KAFKA)
    return [
        *broker_options(),
        option(
            ["--compression"],
            type=click.Choice(["none", "lz4", "zstd", "snappy", "gzip"]),
            default="none",
            help="Compression of batches.",
        ),
    ]


def _kafka_options() -> list[click.Option]:
    option = partial(SectionOption, section=KAFKA)
    return [
        *batch_options(),
        option(
            ["--format"],
            type=click.Choice([*ENCODERS]),
            default="avro",
            help="Format of the values, as in the setting schemas.format.",
        ),
        option(
            ["--delivery"],
            type=click.Choice([delivery.value for delivery in Delivery]),
            default=Delivery.AT_LEAST_ONCE.value,
            callback=lambda _, __, value: Delivery(value),
            help="Delivery guarantee if the run is killed.",
        ),
        option(["--name"], type=named("NAME"), help="Run id; a restart with the same id resumes."),
        option(["--timeout"], type=_LENGTH, default="30s", help="Time-out of the broker and of each record."),
    ]


def _pace_options() -> list[click.Option]:
    option = partial(SectionOption, section="Rate and duration")
    return [
        option(["--rate"], type=_RATE, default="100", help="Events per second; 0: as fast as possible."),
        option(["--events"], type=_WHOLE, help="Stop after this many events."),
        option(["--duration"], type=_LENGTH, help="Stop after this time."),
        option(
            ["--event-rate"], type=_RATE, help="Events per second of event time, for a backlog; default: wall time."
        ),
        option(
            ["--start-time"],
            type=_INSTANT,
            help="Event time at which a backlog starts, like 2024-05-01T00:00:00Z; default: so that it ends now.",
        ),
    ]


def _site_options() -> list[click.Option]:
    option = partial(SectionOption, section="The site")
    return [
        option(["--users"], type=_WHOLE, default="50000", help="Number of different users."),
        option(
            ["--zipf"],
            type=click.FloatRange(min=0),
            default=0,
            metavar="EXPONENT",
            help="Exponent of the users' activity; 0: all users are equally active.",
        ),
        option(["--hot-share"], type=_SHARE, default="0", help="Share of events of the most active user."),
        option(["--seed"], type=int, default=0, help="A seed always sends the same users to the same pages."),
    ]


def _disorder_options() -> list[click.Option]:
    option = partial(SectionOption, section="Disorder (a share is a number from 0 to 1, times are event time)")
    return [
        option(["--jitter"], type=_DURATION, default="0s", help="Move event times backwards by up to this."),
        option(["--jitter-share"], type=_SHARE, default="0.5", help="Share of events with jitter."),
        option(["--late-share"], type=_SHARE, default="0", help="Share of too-late events."),
        option(
            ["--late-by"],
            type=_DURATION,
            default="10m",
            help="Lateness of too-late events: well above bound + window + allowed lateness.",
        ),
        option(
            ["--late-after"], type=_DURATION, default="30s", help="Time from the start to the first too-late event."
        ),
        option(["--future-share"], type=_SHARE, default="0", help="Share of future events."),
        option(
            ["--future-by"],
            type=_DURATION,
            default="1h",
            help="Time by which future events are ahead of the wall clock.",
        ),
        option(["--malformed-share"], type=_SHARE, default="0", help="Share of malformed values."),
        option(
            ["--malformed-kinds"], type=Parsed("KIND,...", _kinds), default=_NAMES, help="Kinds of malformed values."
        ),
        option(["--duplicate-share"], type=_SHARE, default="0", help="Share of events that repeat an earlier event."),
        option(["--silent-partition"], type=int, help="Partition that goes silent."),
        option(["--silent-after"], type=_DURATION, default="10s", help="Time from the start until it goes silent."),
    ]


def _truth_options() -> list[click.Option]:
    option = partial(SectionOption, section="Truth file")
    return [
        option(
            ["--truth"],
            type=_FILE,
            metavar="FILE",
            help="Write counts of the sent events to this JSON file at the end.",
        ),
        option(["--truth-window"], type=_LENGTH, default="1m", help="Length of the tumbling windows of the counts."),
    ]


def simulate_options() -> list[Any]:
    """Returns the options, in the order of the help."""
    return [
        *_kafka_options(),
        *access_options(),
        *_pace_options(),
        *_site_options(),
        *_disorder_options(),
        *_truth_options(),
    ]
