"""What kinds of windows cost: the same backlog with one report, in windows of each kind in turn."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.contestants import Contestant, Job
from benchmarks.drain import Plan, drain_alone
from benchmarks.task import Drain, Task
from demo.broker import Broker

# The event time of a backlog spans four minutes.
WINDOWS: Final[dict[str, dict[str, Any]]] = {
    "tumbling, 1m": {"size": "1m"},
    "sliding, 1m by 12s": {"size": "1m", "slide": "12s"},
    "sliding, 1m by 1s": {"size": "1m", "slide": "1s"},
    "growing, 1m by 12s": {"size": "1m", "step": "12s"},
    "sessions, gap 5s": {"gap": "5s"},
    "count, 20 events": {"count": 20},
}


def drains_by_windows(plan: Plan, broker: Broker, topic: str, work: Path) -> Iterator[tuple[str, list[Drain]]]:
    """Drains with one report per user in windows of each kind, round after round. Raises BenchmarkError."""
    for number in range(plan.rounds):
        for place, (kind, window) in enumerate(WINDOWS.items()):
            folder = str(work / f"windows-{number}-{place}")
            task = Task(broker.bootstrap_servers, topic, plan.events, folder, drains=plan.drains, window=window)
            yield kind, drain_alone(Contestant(Job.OURS, kind), task)
