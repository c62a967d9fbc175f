"""Runs the parts `freshness` and `freshness-flink`, prints their tables, stores their results."""

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.freshness import part, side_by_side
from benchmarks.freshness.figures import Figures, Load
from benchmarks.freshness.side_by_side import FLINK, FLINK_REPORTS, TIDEMARK, TIDEMARK_REPORTS
from benchmarks.freshness.visible import Visibility
from benchmarks.options import WITH_FLINK


def freshness(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    """Runs the service with each interval, and with each number of users."""
    found: dict[Load, Figures] = {}
    usual, *more = options.users
    shapes = [*((usual, interval) for interval in options.intervals), *((many, options.intervals[0]) for many in more)]
    for number, (among, interval) in enumerate(shapes):
        load = load_of(options, among, interval)
        console.print(f"{load}, for {(load.warm_up_ms + load.duration_ms) / 1000:.0f} s ...")
        found[load] = part.measure(load, work / f"freshness-{number}")
        parts.setdefault("freshness", {})[str(load)] = asdict(found[load])
        for table in part.render(found[load]):
            console.print(table)
    if len(found) > 1:
        console.print(part.curve(found))


def freshness_with_flink(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    """Runs Tidemark with each interval of its batches, and Flink with each interval of its checkpoints.

    Both run once more with three reports, by the first of their intervals.
    """
    found: dict[str, Visibility] = {}
    systems = [
        *((TIDEMARK, ms) for ms in options.our_intervals),
        (TIDEMARK_REPORTS, options.our_intervals[0]),
        *((FLINK, ms) for ms in options.checkpoints),
        (FLINK_REPORTS, options.checkpoints[0]),
    ]
    for number, (system, interval) in enumerate(systems):
        title = system.title.format(f"{interval / 1000:g}")
        load = load_of(options, options.users[0], interval)
        console.print(f"{title}, for {(load.warm_up_ms + load.duration_ms) / 1000:.0f} s ...")
        found[title] = side_by_side.measure(system, load, options.window, work / f"{WITH_FLINK}-{number}")
        parts.setdefault(WITH_FLINK, {})[title] = asdict(found[title])
    console.print(side_by_side.render(found))


def load_of(options: Namespace, users: int, interval_ms: int) -> Load:
    """Returns the load that the options describe."""
    return Load(options.rate, users, options.warm_up, options.duration, options.slice, interval_ms)
