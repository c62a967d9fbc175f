"""The command line of the benchmarks."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from benchmarks.contestants import TEXTBOOK_BATCHES, Job
from benchmarks.data import USERS
from tidemark.command_line.times import duration_ms
from tidemark.producers.units import length_ms, whole

_T = TypeVar("_T")
WITH_FLINK: Final = "freshness-flink"
"""The part that measures the freshness of Flink, too."""
PARTS: Final = (
    "drain",
    "start",
    "freshness",
    WITH_FLINK,
    "growth",
    "year",
    "bad",
    "users",
    "windows",
    "partitions",
    "workers",
    "duplicates",
    "formats",
    "versions",
    "age",
    "views",
    "traffic",
    "tabs",
    "day",
    "sessions",
    "totals",
    "engines",
    "driver",
    "collect",
)
_JOBS: Final = {job.option: job for job in Job}
# The parts of most tables in docs/performance.md: an hour and ten minutes on two cores.
_BY_DEFAULT: Final = ("drain", "start", "users", "workers", "partitions", "age", "year", "freshness")
_PEERS: Final = (Job.OURS, Job.TUNED, Job.FLINK_SQL, Job.FLINK_DATASTREAM)
# Small sizes that only prove that everything works.
_QUICK: Final = (
    "--events 600000 --partition-counts 4,16 --partition-batches 6 --partition-events 120000 "
    "--user-counts 1000,10000 --unequal-users 5000 --backlog-users 5000,50000 --users 5000,50000 --repeat 1 "
    "--users-of-a-day 50 --year-events 300 --year-batches 20 --textbook-batches 300000 --drains 2 --batches 60 "
    "--bad-records 300000 --driver-rows 50000 "
    "--ages 2000,20000 --view-rows 100000,500000 --traffic-rows 2000000 --looks 2 --engine-rows 100000 "
    "--remembered 100000,1000000 "
    "--duration 1m --warm-up 30s --slice 15s --rate 10000 --day-batches 300 --session-batches 20 --totals-users 20000 "
    "--our-intervals 500ms --checkpoints 1s --tabs-for 2s --collect-for 2s --collect-rounds 1"
)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the options; explicit options override those of --quick."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Compares Tidemark with peers that do the same work. See docs/performance.md.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--only", type=typed(_part), default=_BY_DEFAULT, metavar="PART,...", help=f"some of {PARTS}")
    parser.add_argument("--quick", action="store_true", help="small sizes: checks that all parts run, measures nothing")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder in which the backlog is stored and reused")
    for add in (_drain, _partitions, _freshness, _bad, _age, _views, _micro, _collect):
        add(parser)
    quick = _QUICK.split() if "--quick" in arguments else []
    options = parser.parse_args([*quick, *arguments])
    if options.warm_up % options.slice:
        parser.error("--warm-up must be a multiple of --slice: a slice that is partly warm-up would not count")
    return options


def _drain(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("drain").add_argument
    add(
        "--events",
        type=typed(whole),
        default=6_000_000,
        help="events of the backlog",
    )
    add("--jobs", type=typed(_jobs), default=_PEERS, metavar="JOB,...", help=f"some of {', '.join(_JOBS)}")
    add(
        "--textbook-batches",
        type=typed(_sizes),
        default=TEXTBOOK_BATCHES,
        metavar="N,...",
        help="batch sizes of the tuned textbook",
    )
    add("--textbook-variants", action="store_true", help="it with RocksDB and with more task slots, too")
    _users(add)
    add("--our-batches", type=typed(_sizes), default=(None,), metavar="N,...", help="None: the service's default")
    add(
        "--drains",
        type=typed(whole),
        metavar="N",
        help="in one process, of which the last counts; for drain 6, or 2 with a million users or more; else 3",
    )
    add("--against", type=Path, metavar="DIR", help="for versions: a checkout of another one, that is set up")
    add("--pairs", type=typed(whole), default=8, help="for versions: of warm drains")
    add(
        "--repeat",
        type=typed(whole),
        metavar="N",
        help="rounds, of which the median counts; 2 for drain, 3 for start, else 1",
    )


def _users(add: Callable[..., object]) -> None:
    add(
        "--user-counts",
        type=typed(_sizes),
        default=(50_000, 1_000_000, 5_000_000, 20_000_000),
        metavar="N,...",
        help="numbers of users of the part users",
    )
    add(
        "--unequal-users",
        type=typed(whole),
        default=1_000_000,
        help="users of unequal activity, for users",
    )
    add(
        "--backlog-users",
        type=typed(_sizes),
        default=(USERS, 5_000_000),
        metavar="N,...",
        help="numbers of users of the backlog: a topic each for drain, the first for all other parts but users",
    )
    add("--users-of-a-day", type=typed(whole), default=1_000, help="users of the backlogs of a day and a year")
    add(
        "--remembered",
        type=typed(_sizes),
        default=(1_000_000, 10_000_000, 50_000_000),
        metavar="N,...",
        help="numbers of remembered ids of the part duplicates",
    )


def _partitions(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("partitions").add_argument
    add("--partition-counts", type=typed(_sizes), default=(4, 64, 512), metavar="N,...", help="partitions per topic")
    add("--partition-events", type=typed(whole), default=1_200_000, help="events per topic")
    add("--partition-batches", type=typed(whole), default=60, help="batches per topic")


def _freshness(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("freshness").add_argument
    add("--rate", type=typed(whole), default=50_000, help="events per second")
    add("--duration", type=typed(length_ms), default="75s", help="time that counts; windows of a minute close in it")
    add("--warm-up", type=typed(length_ms), default="45s", help="time before it; reported separately")
    add("--slice", type=typed(length_ms), default="15s", help="length of a row of the table")
    add(
        "--users",
        type=typed(_sizes),
        default=(USERS, 5_000_000),
        metavar="N,...",
        help="numbers of users: the first with each interval, others with the first interval",
    )
    add(
        "--intervals",
        type=typed(_lengths),
        default="1s,5s,500ms,250ms,0s",
        metavar="LENGTH,...",
        help="values of batch.interval, with a run each",
    )
    lengths = partial(add, type=typed(_lengths), metavar="LENGTH,...")
    lengths("--our-intervals", default="1s,500ms", help=f"values of batch.interval for {WITH_FLINK}")
    lengths("--checkpoints", default="1s,5s,10s", help=f"intervals of Flink's checkpoints for {WITH_FLINK}")
    add("--window", type=typed(length_ms), default="1s", help=f"length of windows for {WITH_FLINK}")


def _bad(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("bad").add_argument
    add("--bad-records", type=typed(whole), default=6_000_000, help="records on each topic")


def _age(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("age").add_argument
    add(
        "--ages",
        type=typed(_sizes),
        default=(3_000, 300_000, 2_600_000),
        metavar="N,...",
        help="numbers of batches in the ledger",
    )


def _views(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("views").add_argument
    add("--view-rows", type=typed(_sizes), default=(1_000_000, 10_000_000), metavar="N,...", help="rows of page_views")
    add("--traffic-rows", type=typed(_sizes), default=(10_000_000,), metavar="N,...", help="rows of a year of [site]")
    add("--looks", type=typed(whole), default=10, help="requests for each view of the dashboard")
    add("--tabs-for", type=typed(length_ms), default="60s", help="time for each number of tabs of the dashboard")


def _micro(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("growth, year, day, sessions, totals, engines and driver").add_argument
    add("--batches", type=typed(whole), default=600, help="batches of the part growth")
    add("--year-events", type=typed(whole), default=26_280, help="events of the year: one every twenty minutes")
    add("--year-batches", type=typed(whole), default=526, help="batches of the year")
    add("--engine-rows", type=typed(_sizes), default=(1_000_000, 16_000_000), metavar="N,...", help="panes of a window")
    add("--driver-rows", type=typed(whole), default=2_000_000, help="users of a window that the driver publishes")
    add("--day-batches", type=typed(whole), default=10_000, help="batches before the day's window is published")
    add("--day-users", type=typed(whole), default=1000, help="rows per batch of the day, of ten times as many users")
    add("--session-batches", type=typed(whole), default=100, help="batches before and after a compaction; above 10")
    add("--session-rows", type=typed(whole), default=20_000, help="partial sessions per batch")
    add("--totals-users", type=typed(_sizes), default=(100_000, 2_000_000), metavar="N,...", help="all users")
    add("--totals-came", type=typed(_sizes), default=(100, 10_000), metavar="N,...", help="users since a publication")


def _collect(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("collect").add_argument
    add("--collect-for", type=typed(length_ms), default="10s", help="time under load per contestant and round")
    add("--collect-rounds", type=typed(whole), default=3, help="rounds over all contestants; the median counts")
    add("--browsers", type=typed(whole), default=32, help="browsers that send one request after another")


def _part(text: str) -> tuple[str, ...]:
    if unknown := set(text.split(",")) - set(PARTS):
        raise ValueError(f"there is no part {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}")
    return tuple(text.split(","))


def _jobs(text: str) -> tuple[Job, ...]:
    try:
        return tuple(_JOBS[name] for name in text.split(","))
    except KeyError as error:
        raise ValueError(f"there is no job {error}; choose from {', '.join(_JOBS)}") from error


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(whole(size) for size in text.split(","))


def _lengths(text: str) -> tuple[int, ...]:
    return tuple(duration_ms(length) for length in text.split(","))


def typed(read: Callable[[str], _T]) -> Callable[[str], _T]:
    """Returns `read` as the type of an option, because argparse hides the text of a ValueError."""

    def read_option(text: str) -> _T:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read_option
