"""The backlog drain: one contestant at a time, round after round."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.contestants import Contestant
from benchmarks.data import truth_of
from benchmarks.process import run
from benchmarks.task import Drain, Task, read_drains
from demo.broker import Broker

DRAINS: Final = 3
"""Number of drains in one process, for parts that compare Tidemark with itself."""
ROUNDS: Final = 2
"""Number of rounds of a ratio between contestants."""
_MANY_USERS: Final = 1_000_000
_WARM: Final = 6
"""Number of drains until Java compiles little: the third of Tidemark took 1.5 times as long as the sixth."""
_FEWER: Final = 2
"""Number of drains with many users, when a drain is long."""


@dataclass(frozen=True)
class Plan:
    """Number of `drains` in one process, of which the last counts, and of `rounds` over all contestants."""

    events: int
    drains: int
    rounds: int


def plan(events: int, among: int, drains: int | None, rounds: int | None) -> Plan:
    """Returns the plan for a backlog of `among` users; `drains` of None depends on the number of users."""
    few = among < _MANY_USERS
    return Plan(events, drains or (_WARM if few else _FEWER), rounds or ROUNDS)


@dataclass(frozen=True)
class Result:
    """A contestant's drains, round by round."""

    contestant: Contestant
    events: int
    rounds: list[list[Drain]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Seconds of the last, warm drain: the median over the rounds."""
        return median(drains[-1].seconds for drains in self.rounds)

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU per event, without the broker."""
        return median(drains[-1].cpu_seconds for drains in self.rounds) / self.events * 1e6

    def to_dict(self) -> dict[str, Any]:
        """Returns the result for the results file."""
        figures = {"rate": self.rate, "seconds": self.seconds, "cpu_us_per_event": self.cpu_us}
        return {**figures, **asdict(self), "title": self.contestant.title}


def drain_all(
    plan: Plan, contestants: Sequence[Contestant], broker: Broker, topic: str, work: Path
) -> Iterator[tuple[Contestant, list[Drain]]]:
    """Drains by all contestants in turn, so that a change of the machine's speed affects all. Raises BenchmarkError."""
    for number in range(plan.rounds):
        for index, contestant in enumerate(contestants):
            folder = work / f"round-{number}-{index}"
            task = Task(
                bootstrap_servers=broker.bootstrap_servers,
                topic=topic,
                events=plan.events,
                work=str(folder),
                batch=contestant.batch,
                drains=plan.drains,
                conf=contestant.conf,
                reports=contestant.reports,
                truth=str(truth_of(broker.data_dir, topic)),
            )
            yield contestant, drain_alone(contestant, task)


def drain_alone(contestant: Contestant, task: Task) -> list[Drain]:
    """Runs a contestant's process to its end and returns its drains."""
    return drain_by(contestant.job.value, task)


def drain_by(module: str, task: Task) -> list[Drain]:
    """Runs the process of `module` and returns its drains."""
    Path(task.work).mkdir(parents=True)
    run([module, task.to_json()], Path(task.work, "log"))
    return read_drains(task)
