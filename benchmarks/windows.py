"""Measures the cost of kinds of windows: the same backlog with one report, in windows of each kind in turn."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.contestants import Contestant, Job
from benchmarks.drain import Plan, drain_alone
from benchmarks.task import Drain, Task
from demo.broker import Broker

Kinds = Mapping[str, dict[str, Any]]
"""Settings of windows by name."""
# The event time of a backlog spans four minutes.
WINDOWS: Final[Kinds] = {
    "tumbling, 1m": {"size": "1m"},
    "sliding, 1m by 12s": {"size": "1m", "slide": "12s"},
    "sliding, 1m by 1s": {"size": "1m", "slide": "1s"},
    "growing, 1m by 12s": {"size": "1m", "step": "12s"},
    "sessions, gap 5s": {"gap": "5s"},
    "count, 20 events": {"count": 20},
}
# The event time of this backlog spans a day.
OF_A_DAY: Final[Kinds] = {"tumbling, 1d": {"size": "1d"}, "sliding, 1d by 1m": {"size": "1d", "slide": "1m"}}


def drains_by_windows(
    plan: Plan, broker: Broker, topic: str, work: Path, kinds: Kinds
) -> Iterator[tuple[str, list[Drain]]]:
    """Drains with one report per user in windows of each kind, round after round. Raises BenchmarkError."""
    for number in range(plan.rounds):
        for index, (kind, window) in enumerate(kinds.items()):
            folder = str(work / f"{topic}-{number}-{index}")
            task = Task(broker.bootstrap_servers, topic, plan.events, folder, drains=plan.drains, window=window)
            yield kind, drain_alone(Contestant(Job.OURS, kind), task)
