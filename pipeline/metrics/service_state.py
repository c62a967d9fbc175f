"""The state of the service since its start, changed by committed batches, publications and the broker."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from tidemark.pipeline.event_time.batch import Batch, LedgerRow
from tidemark.pipeline.event_time.policy import Verdict
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.event_time.window_states import Firings
from tidemark.pipeline.metrics.histogram import Histogram
from tidemark.pipeline.metrics.metric_catalogue import BATCH_DURATION, FRESHNESS, FailureKind, Step, WindowEvent
from tidemark.pipeline.metrics.probes import Backlog
from tidemark.pipeline.runtime.disk import Size, Space, Traffic
from tidemark.pipeline.runtime.jobs import JobRunner, LargeJob
from tidemark.pipeline.runtime.topic_offsets import TopicOffsets


@dataclass(slots=True)
class ServiceState:
    """The values that the metrics show, with times in milliseconds. Callers in several threads must hold a lock."""

    reports: Collection[str]
    """Reports whose windows are counted."""
    epoch: int | None = None
    warehouse_id: str = ""
    """Empty until an epoch is open."""
    watermark: int | None = None
    partitions: dict[int, PartitionState] = field(default_factory=dict)
    batches: int = 0
    unaccounted: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    partly_late: int = 0
    unsettled: int = 0
    windows: Counter[tuple[str, WindowEvent]] = field(default_factory=Counter)
    attempts: int = 0
    failures: Counter[FailureKind] = field(default_factory=Counter)
    last_error_at: int | None = None
    last_commit_at: int | None = None
    last_publication_at: int | None = None
    open_windows: Mapping[str, int] = field(default_factory=dict)
    tables: Mapping[str, Size] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)
    jobs: Counter[tuple[LargeJob, JobRunner]] = field(default_factory=Counter)
    publication_failures: int = 0
    upkeep_failures: int = 0
    unpublished: int = 0
    unpublished_since: int | None = None
    freshness: Histogram = field(default_factory=lambda: Histogram(FRESHNESS.buckets))
    steps: dict[Step, Histogram] = field(
        default_factory=lambda: {step: Histogram(BATCH_DURATION.buckets) for step in Step}
    )
    offsets: TopicOffsets = field(default_factory=lambda: TopicOffsets({}, {}, {}))
    """The last answer of the broker."""
    log_ends_at: int | None = None
    space: Space | None = None
    """The last answer of the file system; None if unknown."""
    certificate_ends: Mapping[str, int] = field(default_factory=dict)
    backlog: Backlog = field(default_factory=Backlog)

    @property
    def positions(self) -> dict[int, int]:
        """The committed offset, per partition."""
        return {partition: state.position for partition, state in self.partitions.items()}

    @property
    def waiting(self) -> int | None:
        """The number of readable records after the committed offsets; None while the log ends are unknown."""
        if self.log_ends_at is None:
            return None
        ends = self.offsets.readable_ends
        return sum(max(0, ends.get(partition, 0) - position) for partition, position in self.positions.items())

    def move_to(self, frontier: Frontier) -> None:
        """Takes positions and watermark from a committed frontier."""
        self.watermark = frontier.watermark
        self.partitions = dict(frontier.partitions)

    def advance(self, frontier: Frontier) -> None:
        """Updates which partitions are idle, from a frontier that is not committed; its offsets are ignored."""
        for partition in self.partitions.keys() & frontier.partitions.keys():
            idle = frontier.partitions[partition].idle
            self.partitions[partition] = replace(self.partitions[partition], idle=idle)

    def commit(self, batch: Batch, committed_at: int) -> None:
        """Adds a batch that is in the ledger since `committed_at`."""
        self.batches += 1
        self.last_commit_at = committed_at
        self.move_to(batch.after)
        self.open_windows = batch.open_windows
        for row in batch.ledger_rows(committed_at):
            self._add_row(row)
        # Not counted at publication: a batch that only closes windows has no publication.
        for name, firing in batch.firings.items():
            self.windows[name, WindowEvent.CLOSED] += len(firing.closed)
        for age_ms, records in batch.tallies.ages_ms.items():
            # A producer's clock may be ahead of the service's clock; a sum must never decrease.
            self.freshness.add(max(0, age_ms + committed_at - batch.folded_at) / 1000, records)

    def publish(self, firings: Firings, now: int) -> None:
        """Adds windows whose results are visible since `now`."""
        self.last_publication_at = now
        for name, firing in firings.items():
            self.windows[name, WindowEvent.FIRED] += len(firing.fired)
            self.windows[name, WindowEvent.REFIRED] += len(firing.refired)

    def _add_row(self, row: LedgerRow) -> None:
        verdicts = {verdict: getattr(row, verdict) for verdict in Verdict}
        self.verdicts.update(verdicts)
        self.partly_late += row.partly_late
        self.unsettled += row.unsettled or 0
        # Records without a verdict, and offsets that are neither record nor gap: 0 unless there is a defect.
        self.unaccounted += abs(row.records - sum(verdicts.values()))
        self.unaccounted += abs(row.to_offset - row.from_offset - row.records - row.gap)
