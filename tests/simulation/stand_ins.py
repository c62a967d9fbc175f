"""Stand-ins for Kafka and for reporting, and the settings of a run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import structlog

from tests.simulation import points, version_0_1_0
from tests.simulation.events import MINUTE, Topic
from tests.simulation.rules import GAP, MARKING, TEN, Rules, Shape
from tidemark.pipeline.event_time.policy import AllIdle, Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded, Punctuated, Strategy, TimeLag
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.kinds import AnyWindows
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.kafka.topic import Identity
from tidemark.pipeline.service import maintenance
from tidemark.pipeline.tables import handle, housekeeping


@cache
def prepare() -> None:
    """Makes the points, once in a process, and leaves out what only measures or is for disks."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    points.install()
    # Nothing in a run is old enough for these.
    put(housekeeping, remove_dead_files=lambda *_: None, shorten_log=lambda *_: None)
    put(housekeeping, take_over=version_0_1_0.take_over_of_writer)
    put(handle, sync=lambda *_: None)
    put(maintenance, sizes=lambda *_: {}, Meter=lambda *_: Nothing())


def put(module: Any, **attributes: Any) -> None:
    """Replaces attributes of a module. Raises AttributeError where one does not exist."""
    for name, value in attributes.items():
        getattr(module, name)
        setattr(module, name, value)


def policy_of(rules: Rules) -> Policy:
    """The project's policy for the settings of a run."""
    reports = tuple(Report(shape.name, _windows(shape), shape.lateness_ms) for shape in rules.shapes)
    totals = UserTotals(GAP, TEN) if rules.has_totals else None
    all_idle = AllIdle.ADVANCE if rules.follows_clock else AllIdle.HOLD
    same = {"totals": totals, "deduplicate": rules.deduplicates, "all_idle": all_idle}
    return Policy(_strategy(rules), 30_000, MINUTE, reports=reports, **same)  # type: ignore[arg-type]


def _strategy(rules: Rules) -> Strategy:
    if rules.strategy == "punctuated":
        return Punctuated(f"user_id = '{MARKING}'")
    return TimeLag(rules.lag_ms) if rules.strategy == "time_lag" else Bounded(rules.lag_ms)


def _windows(shape: Shape) -> AnyWindows:
    made: Mapping[str, Callable[[], AnyWindows]] = {
        "counts": lambda: SlidingCounts(shape.size, shape.slide) if shape.slide else Counts(shape.size),
        "sessions": lambda: Sessions(shape.size),
        "cumulate": lambda: Cumulate(shape.size, shape.slide_ms),
        "calendar": lambda: Calendar(shape.size, shape.zone),
        "grid": lambda: Grid(shape.size, shape.slide_ms),
    }
    return made[shape.kind]()


class Nothing:
    """Stands in for what only reports: every method does nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


@dataclass(frozen=True)
class Kafka:
    """The topic as a service sees it."""

    topic: Topic

    def earliest(self) -> dict[int, int]:
        return dict.fromkeys(range(len(self.topic)), 0)

    def log_ends(self) -> dict[int, int]:
        return {partition: len(events) for partition, events in enumerate(self.topic)}

    high_watermarks = log_ends

    def positions(self, _: object) -> dict[int, int]:
        return self.earliest()

    def identity(self) -> Identity:
        return Identity("cluster", "t")
