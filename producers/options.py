"""The command line of `producers`: every option, its unit and its default."""

import argparse
from pathlib import Path
from typing import NoReturn

from producers.delivery import Delivery
from producers.errors import SetupError
from producers.kinds import MALFORMED, Kind
from producers.units import duration_ms, instant_ms, length_ms, rate, share, typed, whole


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SetupError(f"{message}; see {self.prog} --help")


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The options as a namespace; SetupError for one that is wrong, SystemExit(0) for --help."""
    parser = _Parser(prog="producers", description="Send user events to Kafka.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    simulate = commands.add_parser(
        "simulate",
        help="a seeded, disorderly site",
        description="Simulate a site's users and send what they do, with known disorder.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    for add in (_target, _pace, _site, _disorder, _truth):
        add(simulate)
    return parser.parse_args(argv)


def _target(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("where to").add_argument
    add("--bootstrap-servers", default="localhost:9092", help="HOST:PORT,... of the Kafka brokers")
    add("--topic", default="user-events", help="the topic to send to")
    add("--create-topic", action="store_true", help="create the topic if there is none")
    add("--partitions", type=typed(whole), default=4, help="of a topic that is created")
    add("--compression", choices=("none", "lz4", "zstd", "snappy", "gzip"), default="none", help="of batches")
    add(
        "--delivery", type=Delivery, choices=list(Delivery), default=Delivery.AT_LEAST_ONCE, help="if the run is killed"
    )
    add("--name", help="a run that is killed and started again under its name goes on where it ended")
    add("--timeout", type=typed(length_ms), default="30s", help="for the broker to answer and for each record")


def _pace(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("how fast and how long").add_argument
    add("--rate", type=typed(rate), default=100.0, help="events per second; 0: as fast as possible")
    add("--events", type=typed(whole), help="stop after so many events")
    add("--duration", type=typed(length_ms), help="stop after this time")
    add("--event-rate", type=typed(rate), help="events per second of event time, for a backlog; else wall time")
    add("--start-time", type=typed(instant_ms), help="event time of a backlog's begin; else such that it ends now")


def _site(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("the site").add_argument
    add("--users", type=typed(whole), default=50_000, help="how many different users there are")
    add("--seed", type=int, default=0, help="the same seed sends the same users to the same pages")


def _disorder(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("disorder (shares are between 0 and 1, times are event time)")
    add = group.add_argument
    add("--jitter", type=typed(duration_ms), default="0s", help="displace events backwards by up to this")
    add("--jitter-share", type=typed(share), default=0.5, help="share of events that are displaced")
    add("--late-share", type=typed(share), default=0.0, help="share of too-late events")
    add("--late-by", type=typed(duration_ms), default="10m", help="how late: well above bound + window + lateness")
    add("--late-after", type=typed(duration_ms), default="30s", help="too-late events begin so long after the start")
    add("--future-share", type=typed(share), default=0.0, help="share of future events")
    add("--future-by", type=typed(duration_ms), default="1h", help="how far ahead of the wall clock")
    add("--malformed-share", type=typed(share), default=0.0, help="share of malformed values")
    add("--malformed-kinds", type=typed(_kinds), default=MALFORMED, metavar="KIND,...", help=f"some of {_NAMES}")
    add("--silent-partition", type=int, help="this partition goes silent")
    add("--silent-after", type=typed(duration_ms), default="10s", help="how long after the start")


def _truth(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("the truth").add_argument
    add("--truth", type=Path, help="write what was sent to this file (JSON) at the end")
    add("--truth-window", type=typed(length_ms), default="1m", help="length of its tumbling windows")


_NAMES = ", ".join(kind.name.lower() for kind in MALFORMED)


def _kinds(text: str) -> tuple[Kind, ...]:
    known = {kind.name.lower(): kind for kind in MALFORMED}
    for name in text.split(","):
        if name not in known:
            raise ValueError(f"{name!r} is no kind of malformed value; choose from {_NAMES}")
    return tuple(known[name] for name in text.split(","))
