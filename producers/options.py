"""The command line of `producers simulate`: every option, its unit and its default."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from command_line.times import duration_ms, instant_ms
from command_line.types import Parsed, named
from command_line.verbs import SectionOption
from producers.access import access_options
from producers.delivery import Delivery
from producers.kinds import MALFORMED, Kind
from producers.units import length_ms, rate, share, whole

Run = Callable[..., int]
_NAMES: Final = ",".join(kind.name.lower() for kind in MALFORMED)


def _kinds(text: str) -> tuple[Kind, ...]:
    known = {kind.name.lower(): kind for kind in MALFORMED}
    for name in text.split(","):
        if name not in known:
            raise ValueError(f"{name!r} is no kind of malformed value; choose from {_NAMES}")
    return tuple(known[name] for name in text.split(","))


_WHOLE: Final = Parsed("COUNT", whole)
_DURATION: Final = Parsed("DURATION", duration_ms)
_LENGTH: Final = Parsed("DURATION", length_ms)
_RATE: Final = Parsed("PER_SECOND", rate)
_SHARE: Final = Parsed("SHARE", share)
_INSTANT: Final = Parsed("TIME", instant_ms)
_FILE: Final = click.Path(path_type=Path)


def broker_options() -> list[click.Option]:
    """The options of every verb that sends."""
    option = partial(SectionOption, section="Where to")
    return [
        option(["--bootstrap-servers"], default="localhost:9092", metavar="HOST:PORT,...", help="The Kafka brokers."),
        option(["--topic"], default="user-events", type=named("NAME"), help="The topic to send to."),
    ]


def filling_options() -> list[click.Option]:
    """The options of every verb that may create its topic and sends in batches."""
    option = partial(SectionOption, section="Where to")
    return [
        *broker_options(),
        option(["--create-topic"], is_flag=True, help="Create the topic if there is none."),
        option(["--partitions"], type=_WHOLE, default="4", help="Of a topic that is created."),
        option(
            ["--compression"],
            type=click.Choice(["none", "lz4", "zstd", "snappy", "gzip"]),
            default="none",
            help="Of batches.",
        ),
    ]


def _where_to() -> list[click.Option]:
    option = partial(SectionOption, section="Where to")
    return [
        *filling_options(),
        option(
            ["--delivery"],
            type=click.Choice([one.value for one in Delivery]),
            default=Delivery.AT_LEAST_ONCE.value,
            callback=lambda _, __, value: Delivery(value),
            help="What may happen to a record when the run is killed.",
        ),
        option(
            ["--name"], type=named("NAME"), help="A run that is started again under its name goes on where it ended."
        ),
        option(["--timeout"], type=_LENGTH, default="30s", help="For the broker to answer, and for each record."),
    ]


def _pace() -> list[click.Option]:
    option = partial(SectionOption, section="How fast and how long")
    return [
        option(["--rate"], type=_RATE, default="100", help="Events per second; 0: as fast as possible."),
        option(["--events"], type=_WHOLE, help="Stop after so many events."),
        option(["--duration"], type=_LENGTH, help="Stop after this time."),
        option(["--event-rate"], type=_RATE, help="Events per second of event time, for a backlog; else wall time."),
        option(
            ["--start-time"],
            type=_INSTANT,
            help="Event time at which a backlog begins, as 2024-05-01T00:00:00Z; else such that it ends now.",
        ),
    ]


def _site() -> list[click.Option]:
    option = partial(SectionOption, section="The site")
    return [
        option(["--users"], type=_WHOLE, default="50000", help="How many different users there are."),
        option(
            ["--zipf"],
            type=click.FloatRange(min=0),
            default=0,
            metavar="EXPONENT",
            help="How much busier some users are.",
        ),
        option(["--hot-share"], type=_SHARE, default="0", help="Share of events that are one user's."),
        option(["--seed"], type=int, default=0, help="The same seed sends the same users to the same pages."),
    ]


def _disorder() -> list[click.Option]:
    option = partial(SectionOption, section="Disorder (a share is a number from 0 to 1, times are event time)")
    return [
        option(["--jitter"], type=_DURATION, default="0s", help="Displace events backwards by up to this."),
        option(["--jitter-share"], type=_SHARE, default="0.5", help="Share of events that are displaced."),
        option(["--late-share"], type=_SHARE, default="0", help="Share of too-late events."),
        option(["--late-by"], type=_DURATION, default="10m", help="How late: well above bound, window and lateness."),
        option(["--late-after"], type=_DURATION, default="30s", help="Too-late events begin so long after the start."),
        option(["--future-share"], type=_SHARE, default="0", help="Share of future events."),
        option(["--future-by"], type=_DURATION, default="1h", help="How far ahead of the wall clock."),
        option(["--malformed-share"], type=_SHARE, default="0", help="Share of malformed values."),
        option(["--malformed-kinds"], type=Parsed("KIND,...", _kinds), default=_NAMES, help="In which ways malformed."),
        option(["--duplicate-share"], type=_SHARE, default="0", help="Share of events that are an earlier one again."),
        option(["--silent-partition"], type=int, help="This partition goes silent."),
        option(["--silent-after"], type=_DURATION, default="10s", help="How long after the start it does."),
    ]


def _truth() -> list[click.Option]:
    option = partial(SectionOption, section="The truth")
    return [
        option(["--truth"], type=_FILE, metavar="FILE", help="Write what was sent to this file (JSON) at the end."),
        option(["--truth-window"], type=_LENGTH, default="1m", help="Length of its tumbling windows."),
    ]


def simulate_options() -> list[Any]:
    """The options, as they stand in help."""
    return [*_where_to(), *access_options(), *_pace(), *_site(), *_disorder(), *_truth()]
