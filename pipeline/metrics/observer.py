"""The state of a running service, for metrics and health."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from types import MappingProxyType
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector

from tidemark.pipeline.event_time.batch import Batch
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.watermark import Frontier
from tidemark.pipeline.event_time.window_states import Firings
from tidemark.pipeline.metrics.collector import Collector
from tidemark.pipeline.metrics.inquirer import Inquirer
from tidemark.pipeline.metrics.metric_catalogue import FailureKind, Step
from tidemark.pipeline.metrics.probes import Loop, ProbeAnswer, health, pace, reached, readiness
from tidemark.pipeline.metrics.processes import JAVA
from tidemark.pipeline.metrics.readings import Readings, read
from tidemark.pipeline.metrics.service_state import ServiceState
from tidemark.pipeline.runtime.disk import Size, Space, Traffic
from tidemark.pipeline.runtime.jobs import JobRunner, LargeJob
from tidemark.pipeline.runtime.topic_offsets import TopicOffsets
from tidemark.pipeline.settings.durations import milliseconds
from tidemark.pipeline.settings.model import MetricsSettings

_PATIENCE_S: Final = 0.5
"""Prometheus waits ten seconds for a page, a Kubernetes probe one second."""
_RUNNING: Final = "the service is running"


@dataclass(frozen=True, slots=True)
class Host:
    """The warehouse of the process, its file system, and its Java process."""

    warehouse: str = ""
    space: Callable[[], Space | None] = lambda: None
    """Returns None if the store has no such limit, or does not report it; may block."""
    java: Callable[[], int | None] = lambda: None
    """Returns the process id; None while there is no process."""
    certificate_ends: Callable[[], Mapping[str, int]] = dict
    """Returns the ends of certificates in ms by use; may block."""


_NO_HOST: Final = Host()


class Observer:
    """Metrics, health and readiness of a process, over all its attempts; all methods may be called by any thread.

    The lock is held for arithmetic only, not during a request to a broker or a file system: these cannot delay a
    batch or a probe.
    """

    def __init__(
        self,
        settings: MetricsSettings,
        policy: Policy,
        now: Callable[[], int],
        patience_s: float = _PATIENCE_S,
        host: Host = _NO_HOST,
        interval_ms: int | None = None,
    ) -> None:
        """`interval_ms` is the time between the starts of batches; without it the sentence on health has no pace."""
        self.registry = CollectorRegistry()
        self._warehouse = host.warehouse
        self._max_age_ms = milliseconds(settings.max_age)
        self._stuck_after_ms = milliseconds(settings.stuck_after)
        self._policy = policy
        self._now = now
        self._interval_ms = interval_ms
        self._log_ends = Inquirer[TopicOffsets]("log_ends", None, self._set_offsets, now, patience_s)
        self._space = Inquirer("space", host.space, self._set_space, now, patience_s)
        self._certificates = Inquirer("certificates", host.certificate_ends, self._set_certificates, now, patience_s)
        self._lock = Lock()
        self._state = ServiceState([report.name for report in policy.reports if report.windows.ends_are_known])
        self._loop = Loop(now(), is_starting=True)
        self._error = ""
        self._goal: Mapping[int, int] | None = None
        self._caught_up = False
        self.registry.register(Collector(self._read))
        ProcessCollector(registry=self.registry)
        ProcessCollector(JAVA, pid=lambda: host.java() or "none", registry=self.registry)

    def follow(self, offsets: Callable[[], TopicOffsets]) -> None:
        """Takes the function that returns the topic's offsets, or raises a TidemarkError; before, they are unknown."""
        self._log_ends.ask = offsets

    def opening(self) -> None:
        """Notes that an attempt to open the service begins."""
        with self._lock:
            self._state.attempts += 1
            after = f"the service restarts after: {self._error}" if self._error else None
            self._loop.turn(self._now(), after)
            self._loop.is_starting = True

    def waiting(self) -> None:
        """Notes that the attempt waits for another system, and will try again."""
        with self._lock:
            self._loop.turn(self._now())

    def failed(self, kind: FailureKind, reason: str, pause_s: float) -> None:
        """Notes that an attempt failed, and that the next one begins after a pause."""
        with self._lock:
            self._state.failures[kind] += 1
            self._state.last_error_at = self._now()
            self._error = reason
            self._loop.turn(self._now(), f"the service failed and restarts in {pause_s:g} s: {reason}")

    def opened(
        self,
        epoch: int,
        frontier: Frontier,
        open_windows: Mapping[str, int] = MappingProxyType({}),
        warehouse_id: str = "",
    ) -> None:
        """Notes that an epoch is open. Ready means: what is on the topic now is committed."""
        self._log_ends.refresh()
        with self._lock:
            self._loop.turn(self._now(), _RUNNING)
            self._loop.is_starting = False
            self._state.epoch, self._state.warehouse_id = epoch, warehouse_id
            self._state.move_to(frontier)
            self._state.open_windows = open_windows
            # A start publishes all that was left.
            self._state.unpublished, self._state.unpublished_since = 0, None
            self._update_caught_up()

    def committed(self, batch: Batch, committed_at: int) -> None:
        """Notes that a batch is in the ledger, since `committed_at` in ms."""
        with self._lock:
            self._loop.turn(self._now())
            self._state.commit(batch, committed_at)
            self._update_caught_up()

    def advanced(self, frontier: Frontier) -> None:
        """Notes that idleness was evaluated, and that no commit was needed."""
        with self._lock:
            self._loop.turn(self._now())
            self._state.advance(frontier)

    def published(self, firings: Firings) -> None:
        """Notes that windows are visible in the result tables."""
        with self._lock:
            self._state.publish(firings, self._now())

    def unpublished(self, batches: int, since: int | None) -> None:
        """Notes how many batches are committed and not published, and since when, in ms."""
        with self._lock:
            self._state.unpublished, self._state.unpublished_since = batches, since

    def assigned(self, job: LargeJob, by: JobRunner) -> None:
        """Notes that the driver or executors do a job."""
        with self._lock:
            self._state.jobs[job, by] += 1

    def publication_failed(self) -> None:
        """Notes that the store refused a publication."""
        with self._lock:
            self._state.publication_failures += 1

    def upkeep_failed(self) -> None:
        """Notes that the store refused upkeep."""
        with self._lock:
            self._state.upkeep_failures += 1

    def measured(self, tables: Mapping[str, Size], traffic: Traffic) -> None:
        """Notes the sizes of the tables by name, and the bytes of commits since the last call."""
        with self._lock:
            self._state.tables = tables
            self._state.traffic += traffic

    def stepped(self, step: str, seconds: float) -> None:
        """Notes that a step of a batch ended. Raises ValueError if the catalogue has no such step."""
        with self._lock:
            self._state.steps[Step(step)].add(seconds)

    def caught_up(self) -> None:
        """Notes that the service has read the topic to its end."""
        with self._lock:
            self._caught_up = True

    def healthy(self) -> ProbeAnswer:
        """Returns whether the service makes progress, and how fast; waits for no broker."""
        self._log_ends.refresh(wait=False)
        with self._lock:
            now = self._now()
            answer = health(self._loop, now, self._stuck_after_ms)
            if self._interval_ms is None or self._loop.activity != _RUNNING:
                return answer
            last_commit_at = self._state.last_commit_at
            since_commit_ms = None if last_commit_at is None else now - last_commit_at
            sentence = f"{answer.sentence} {pace(self._interval_ms, since_commit_ms, self._state.waiting)}"
            return replace(answer, sentence=sentence)

    @property
    def warehouse_id(self) -> str:
        """The id of the warehouse; empty until it is open."""
        return self._state.warehouse_id

    def ready(self) -> ProbeAnswer:
        """Returns whether the service caught up once, and nothing waits or is unknown for too long."""
        self._log_ends.refresh()
        with self._lock:
            now = self._now()
            age_ms = self._state.backlog.oldest_age_ms(self._state.positions, now)
            unpublished_ms, unanswered_ms = (
                None if since is None else now - since
                for since in (self._state.unpublished_since, self._log_ends.unanswered_since)
            )
            return readiness(age_ms, unpublished_ms, unanswered_ms, self._max_age_ms, caught_up=self._caught_up)

    def _read(self) -> Readings:
        self._log_ends.refresh()
        self._space.refresh()
        self._certificates.refresh()
        with self._lock:
            return read(self._state, self._policy, self._warehouse, self._now())

    def _set_offsets(self, offsets: TopicOffsets) -> None:
        with self._lock:
            now, positions = self._now(), self._state.positions
            self._state.offsets, self._state.log_ends_at = offsets, now
            self._state.backlog.add(offsets.readable_ends, positions, now)
            self._update_caught_up()

    def _set_space(self, space: Space | None) -> None:
        with self._lock:
            self._state.space = space

    def _set_certificates(self, ends: Mapping[str, int]) -> None:
        with self._lock:
            self._state.certificate_ends = ends

    def _update_caught_up(self) -> None:
        """Compares positions with the log ends of the opening: under steady traffic the end is never reached."""
        if self._state.epoch is None or self._state.log_ends_at is None:
            return
        if self._goal is None:
            self._goal = self._state.offsets.readable_ends
        self._caught_up = self._caught_up or reached(self._state.positions, self._goal)
