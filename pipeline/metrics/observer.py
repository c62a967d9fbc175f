"""The numbers of a running service, kept for metrics and health."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType

from prometheus_client import CollectorRegistry, ProcessCollector

from pipeline.event_time.batch import Batch
from pipeline.event_time.policy import Policy
from pipeline.event_time.watermark import Frontier
from pipeline.event_time.window_states import Firings
from pipeline.metrics.collector import Collector
from pipeline.metrics.log_ends import Ask, LogEnds
from pipeline.metrics.metric_catalogue import FailureKind, Step
from pipeline.metrics.probes import Loop, ProbeAnswer, health, reached, readiness
from pipeline.metrics.processes import JAVA
from pipeline.metrics.readings import Readings, read
from pipeline.metrics.service_state import Totals
from pipeline.runtime.disk import Size, Space, Traffic
from pipeline.runtime.jobs import By, Job
from pipeline.settings.durations import milliseconds
from pipeline.settings.model import MetricsSettings

# Well below the ten seconds that Prometheus waits for a page, and the one second of a Kubernetes probe.
_PATIENCE_S = 0.5


@dataclass(frozen=True, slots=True)
class Host:
    """The warehouse that the process writes, the space there, and the Java process beside it."""

    warehouse: str = ""
    space: Callable[[], Space | None] = lambda: None
    """None where the store has no such limit, or does not tell."""
    java: Callable[[], int | None] = lambda: None
    """The process id; None while there is none."""


_NOWHERE = Host()


class Observer:
    """Metrics, health and readiness of a process, over all its attempts; may be told and asked from any thread.

    The lock is held for arithmetic only: neither the broker nor a slow reader of the page can delay a batch by it.
    """

    def __init__(
        self,
        settings: MetricsSettings,
        policy: Policy,
        now: Callable[[], int],
        patience_s: float = _PATIENCE_S,
        host: Host = _NOWHERE,
    ) -> None:
        self.registry = CollectorRegistry()
        self._host = host
        self._max_age_ms = milliseconds(settings.max_age)
        self._stuck_after_ms = milliseconds(settings.stuck_after)
        self._policy = policy
        self._now = now
        self._log_ends = LogEnds(self._hear, now, patience_s)
        self._lock = Lock()
        self._totals = Totals([report.name for report in policy.reports if report.windows.ends_are_known])
        self._loop = Loop(now())
        self._error = ""
        self._goal: Mapping[int, int] | None = None
        self._caught_up = False
        self.registry.register(Collector(self._read))
        ProcessCollector(registry=self.registry)
        ProcessCollector(JAVA, pid=lambda: host.java() or "none", registry=self.registry)

    def follow(self, log_ends: Ask) -> None:
        """From now on asks there for the log ends; before there are none."""
        self._log_ends.ask = log_ends

    def opening(self) -> None:
        """An attempt to open the service begins."""
        with self._lock:
            self._totals.attempts += 1
            refired = f"the service starts again after: {self._error}" if self._error else None
            self._loop.round(self._now(), refired)

    def waiting(self) -> None:
        """The attempt waits for somebody else, and will try again."""
        with self._lock:
            self._loop.round(self._now())

    def failed(self, kind: FailureKind, reason: str, pause_s: float) -> None:
        """An attempt failed; the next one begins after a pause."""
        with self._lock:
            self._totals.failures[kind] += 1
            self._totals.last_error_at = self._now()
            self._error = reason
            self._loop.round(self._now(), f"the service failed and starts again after {pause_s:g} s: {reason}")

    def opened(self, epoch: int, frontier: Frontier, open_windows: Mapping[str, int] = MappingProxyType({})) -> None:
        """An epoch begins at a frontier that the ledger has. What is on the topic now is what there is to catch up."""
        self._log_ends.refresh()
        with self._lock:
            self._loop.round(self._now(), "the service is at work")
            self._totals.epoch = epoch
            self._totals.stand_at(frontier)
            self._totals.open_windows = open_windows
            # A start publishes all that was left.
            self._totals.unpublished, self._totals.unpublished_since = 0, None
            self._look_whether_caught_up()

    def committed(self, batch: Batch, committed_at: int) -> None:
        """The ledger has a batch."""
        with self._lock:
            self._loop.round(self._now())
            self._totals.commit(batch, committed_at)
            self._look_whether_caught_up()

    def advanced(self, frontier: Frontier) -> None:
        """Idleness was looked at again, and nothing came of it that needs a commit."""
        with self._lock:
            self._loop.round(self._now())
            self._totals.advance(frontier)

    def published(self, firings: Firings) -> None:
        """Windows are visible in the result tables."""
        with self._lock:
            self._totals.publish(firings, self._now())

    def unpublished(self, batches: int, since: int | None) -> None:
        """How many batches are committed and not published, and when the first of them was committed."""
        with self._lock:
            self._totals.unpublished, self._totals.unpublished_since = batches, since

    def given(self, job: Job, by: By) -> None:
        """A job on tables went to the driver or to executors."""
        with self._lock:
            self._totals.jobs[job, by] += 1

    def publication_failed(self) -> None:
        """The store refused a publication."""
        with self._lock:
            self._totals.publication_failures += 1

    def upkeep_failed(self) -> None:
        """The store refused upkeep."""
        with self._lock:
            self._totals.upkeep_failures += 1

    def measured(self, tables: Mapping[str, Size], traffic: Traffic) -> None:
        """How large the tables are, by their names, and the bytes that came and went since the last time."""
        with self._lock:
            self._totals.tables = tables
            self._totals.traffic += traffic

    def stepped(self, step: str, seconds: float) -> None:
        """A step of a batch ended. Raises ValueError for one that the catalogue does not have."""
        with self._lock:
            self._totals.steps[Step(step)].add(seconds)

    def caught_up(self) -> None:
        """The service knows by itself that it has read the topic to its end."""
        with self._lock:
            self._caught_up = True

    def healthy(self) -> ProbeAnswer:
        """Whether the service's loop comes round."""
        with self._lock:
            return health(self._loop, self._now(), self._stuck_after_ms)

    def ready(self) -> ProbeAnswer:
        """Whether the service caught up once, and nothing waits for too long, nor is unknown for too long."""
        self._log_ends.refresh()
        with self._lock:
            now = self._now()
            age_ms = self._totals.backlog.oldest_age_ms(self._totals.positions, now)
            behind_ms, unanswered_ms = (
                None if since is None else now - since
                for since in (self._totals.unpublished_since, self._log_ends.unanswered_since)
            )
            return readiness(age_ms, behind_ms, unanswered_ms, self._max_age_ms, caught_up=self._caught_up)

    def _read(self) -> Readings:
        self._log_ends.refresh()
        space = self._host.space()
        with self._lock:
            return read(self._totals, self._policy, self._host.warehouse, space, self._now())

    def _hear(self, log_ends: Mapping[int, int]) -> None:
        with self._lock:
            now, positions = self._now(), self._totals.positions
            self._totals.log_ends, self._totals.log_ends_at = log_ends, now
            self._totals.backlog.saw(log_ends, positions, now)
            self._look_whether_caught_up()

    def _look_whether_caught_up(self) -> None:
        """Under steady traffic the end is never reached; where it was when the epoch opened can be."""
        if self._totals.epoch is None or self._totals.log_ends_at is None:
            return
        if self._goal is None:
            self._goal = self._totals.log_ends
        self._caught_up = self._caught_up or reached(self._totals.positions, self._goal)
