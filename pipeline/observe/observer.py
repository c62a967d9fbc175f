"""What the service tells of itself, kept for whoever asks."""

from collections.abc import Callable, Mapping
from threading import Lock

from prometheus_client import CollectorRegistry

from pipeline.durations import milliseconds
from pipeline.observe.catalogue import Step
from pipeline.observe.facts import CommittedBatch
from pipeline.observe.health import Answer, health, reached, readiness
from pipeline.observe.log_ends import LogEnds
from pipeline.observe.page import Page
from pipeline.observe.readings import Heard, Readings, read
from pipeline.observe.totals import Totals
from pipeline.settings import MetricsSettings
from pipeline.time.lives import Dues
from pipeline.time.report import Periodic
from pipeline.time.verdicts import Policy
from pipeline.time.watermark import Frontier

# Well below the ten seconds that Prometheus waits for a page, and the one second of a Kubernetes probe.
_PATIENCE_S = 0.5


class Observer:
    """Metrics, health and readiness of one service; may be told and asked from any thread.

    The lock is held for arithmetic only: neither the broker nor a slow reader of the page can delay a batch by it.
    """

    def __init__(
        self,
        log_ends: Callable[[], Mapping[int, int]],
        settings: MetricsSettings,
        policy: Policy,
        now: Callable[[], int],
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self.registry = CollectorRegistry()
        self._max_age_ms = milliseconds(settings.max_age)
        self._policy = policy
        self._now = now
        self._log_ends = LogEnds(log_ends, self._hear, now, patience_s)
        self._lock = Lock()
        self._totals = Totals([report.name for report in policy.reports if isinstance(report.windows, Periodic)])
        self._heard = Heard()
        self._goal: Mapping[int, int] | None = None
        self._caught_up = False
        self.registry.register(Page(self._read))

    def opened(self, epoch: int, frontier: Frontier) -> None:
        """An epoch begins at a frontier that the ledger has. What is on the topic now is what there is to catch up."""
        self._log_ends.refresh()
        with self._lock:
            self._totals.epoch = epoch
            self._totals.stand_at(frontier)
            self._look_whether_caught_up()

    def committed(self, batch: CommittedBatch, committed_at: int) -> None:
        """The ledger has a batch."""
        with self._lock:
            self._totals.commit(batch, committed_at)
            self._look_whether_caught_up()

    def settled(self, frontier: Frontier) -> None:
        """Idleness was looked at again, and nothing came of it that needs a commit."""
        with self._lock:
            self._totals.settle(frontier)

    def published(self, dues: Dues) -> None:
        """Windows are visible in the result tables."""
        with self._lock:
            self._totals.publish(dues)

    def stepped(self, step: str, seconds: float) -> None:
        """A step of a batch ended. Raises ValueError for one that the catalogue does not have."""
        with self._lock:
            self._totals.steps[Step(step)].add(seconds)

    def caught_up(self) -> None:
        """The service knows by itself that it has read the topic to its end."""
        with self._lock:
            self._caught_up = True

    def healthy(self) -> Answer:
        """Whether the oldest unprocessed record is young enough."""
        self._log_ends.refresh()
        with self._lock:
            age_ms = self._heard.backlog.oldest_age_ms(self._totals.positions, self._now())
        return health(age_ms, self._max_age_ms)

    def ready(self) -> Answer:
        """Whether the service caught up once."""
        self._log_ends.refresh()
        with self._lock:
            return readiness(caught_up=self._caught_up)

    def _read(self) -> Readings:
        self._log_ends.refresh()
        with self._lock:
            return read(self._totals, self._heard, self._policy, self._now())

    def _hear(self, log_ends: Mapping[int, int]) -> None:
        with self._lock:
            now, positions = self._now(), self._totals.positions
            self._heard.log_ends, self._heard.at = log_ends, now
            self._heard.backlog.saw(log_ends, positions, now)
            self._look_whether_caught_up()

    def _look_whether_caught_up(self) -> None:
        """Under steady traffic the end is never reached; where it was when the epoch opened can be."""
        if self._totals.epoch is None or self._heard.at is None:
            return
        if self._goal is None:
            self._goal = self._heard.log_ends
        self._caught_up = self._caught_up or reached(self._totals.positions, self._goal)
