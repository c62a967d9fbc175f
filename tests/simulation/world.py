"""The project's own code as writers: whole processes of the service.

Spark's fold and Kafka are replaced by a list of events for each partition; all else is what `tidemark run` executes.
Only this module, `fold`, `stand_ins`, `verbs` and `mutations` know the project.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

import pyarrow as pa

from tests.simulation.events import MINUTE, Topic
from tests.simulation.fold import Fold
from tests.simulation.rules import Rules
from tests.simulation.stand_ins import Kafka, Nothing, policy_of
from tests.simulation.writers import Stage
from tidemark.pipeline.errors import Replaced, SetUpError
from tidemark.pipeline.event_time.batch import Batch
from tidemark.pipeline.event_time.lateness import cutoffs
from tidemark.pipeline.event_time.malformed import MalformedLimit
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.table_retention import TableRetention
from tidemark.pipeline.event_time.window_states import due
from tidemark.pipeline.results.compaction import Compaction
from tidemark.pipeline.results.kind_registry import kinds_of
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.service.due_queue import DueFirings, DueQueue
from tidemark.pipeline.service.maintenance import Maintenance
from tidemark.pipeline.service.publisher import publish_due
from tidemark.pipeline.service.publisher_step import Maintain, PublisherState, Sleep, next_step
from tidemark.pipeline.service.recovery import OpenedEpoch, OwnEpoch, open_epoch
from tidemark.pipeline.service.resources import Resources
from tidemark.pipeline.settings.model import KafkaSettings, Settings
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.changed_meaning import Meaning
from tidemark.pipeline.tables.large import NOTHING
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, EVENT_IDS, PANES
from tidemark.pipeline.tables.store_errors import is_of_store
from tidemark.pipeline.tuning import Tuning

_KAFKA: Final = KafkaSettings(topic="t")
_ATTEMPTS: Final = 4
TUNING: Final = Tuning(merged_runs=2, small_files=2, ledger_files=2)
"""Upkeep finds work in small tables."""


@dataclass
class Process:
    """A process of the service: attempts, each of which begins with the ledger, as `supervise` makes them."""

    stage: Stage
    warehouse: str
    topic: Topic
    rules: Rules
    has_upkeep: bool = False
    offset_ms: int = 0
    """By how much the clock of its host is ahead of the events."""
    errors: list[Exception] = field(default_factory=list)
    """The error that ended its attempts."""
    own: OwnEpoch = field(default_factory=OwnEpoch)
    queue: DueQueue = field(default_factory=DueQueue)
    tries: int = _ATTEMPTS
    """How often the store may refuse a publication."""
    failed: bool = False
    """Whether the supervisor starts it again."""
    pending: tuple[Iterator[None], int] | None = None
    """Steps of upkeep, and the batch after which they come."""
    resources: Resources = field(init=False)
    progress: Progress = field(init=False)

    def open(self) -> "Process":
        """Starts: opens an epoch, and whatever a start writes."""
        self.resources = self._resources(Ledger(self.warehouse, many_files=TUNING.ledger_files))
        opened = open_epoch(self.resources, _KAFKA, self.own)
        self.queue = DueQueue()
        self._hold(opened)
        return self

    def on(self, stage: Stage, warehouse: str) -> "Process":
        """Returns this running service on a copy of its warehouse, with handles that are as new as its own."""
        kinds = kinds_of(warehouse, self.progress.policy, NOTHING, TUNING)
        twin = replace(self, stage=stage, warehouse=warehouse, errors=[], own=replace(self.own))
        ledger = Ledger(warehouse, many_files=TUNING.ledger_files)
        ledger.latest()
        twin.resources = twin._resources(ledger)
        twin.queue = DueQueue()
        for waiting in filter(None, (self.queue._taken, self.queue._waiting)):
            twin.queue.add(waiting)
        twin._hold(
            replace(
                self._opened,
                progress=self.progress,
                remembered=self._remembered,
                publication=Publication(warehouse, kinds),
                compaction=Compaction(warehouse, kinds),
            )
        )
        return twin

    def _resources(self, ledger: Ledger) -> Resources:
        kept = {shape.name: TableRetention(None, self.rules.keeps_rows_ms) for shape in self.rules.shapes}
        nothing = cast("Any", Nothing())
        return Resources(
            warehouse=self.warehouse,
            policy=policy_of(self.rules),
            topic=cast("Any", Kafka(self.topic)),
            ledger=ledger,
            now=lambda: self.now,
            pseudonyms=None,
            meaning=Meaning.of(Settings()),
            spark=nothing,
            schemas=nothing,
            plan=nothing,
            malformed=MalformedLimit(1.0, 1000),
            mirror=nothing,
            observer=nothing,
            retention=kept if self.rules.keeps_rows_ms is not None else {},
            large=NOTHING,
            tuning=TUNING,
        )

    def _hold(self, opened: OpenedEpoch) -> None:
        self._opened = opened
        self.progress, self.publication, self._remembered = opened.progress, opened.publication, opened.remembered
        self.upkeep = Maintenance(self.resources, opened.compaction)
        self.panes, self.letters = Appender(PANES, self.warehouse), Appender(DEAD_LETTERS, self.warehouse)
        self.ids = Appender(EVENT_IDS, self.warehouse) if opened.remembered is not None else None

    @property
    def now(self) -> int:
        """The clock of its host, in milliseconds."""
        return self.stage.now + self.offset_ms

    @property
    def is_done(self) -> bool:
        """Whether it has read the topic to its end."""
        return all(self.progress.positions[partition] >= len(events) for partition, events in enumerate(self.topic))

    def take(self, size: int = 3, *, publishes: bool = True) -> Batch:
        """Takes a batch of the next `size` records of each partition, whose panes are written in two pieces."""
        before, size = self.progress, max(1, size // len(self.topic))
        fold = Fold(self.topic, before, self._remembered, size)
        self.stage.now = max(self.stage.now, *fold.times, 0)  # events come when they happen
        number = before.batch_id + 1
        if self.ids is not None:
            self.ids.append(fold.id_rows(number), number)
        for piece in (0, 1):
            self.panes.append(pa.Table.from_pylist(fold.panes[piece::2], schema=PANES.schema), number)
        self.letters.append(pa.Table.from_pylist(fold.letters, schema=DEAD_LETTERS.schema), number)
        ends = self.resources.topic.high_watermarks()
        batch, after = before.after(fold.statistics, fold.ends, ends, self.now)
        self._commit(batch, after)
        if self._remembered is not None and fold.ids is not None:
            since, _ = cutoffs(after.policy.reports, after.frontier.watermark)
            self._remembered = self._remembered.after(fold.ids, since)
        self._offer(batch)
        if publishes:
            self.flush()
            if self.has_upkeep:
                self.tend(batch)
        self.resources.ledger.tidy()
        return batch

    def tick(self) -> None:
        """A batch without records, in which a minute passes: the idle partitions let the clock move the watermark."""
        self.stage.now += MINUTE
        ends = self.resources.topic.high_watermarks()
        batch, after = self.progress.after((), {}, ends, self.now)
        if batch.is_empty:
            self.progress = after
        else:
            self._commit(batch, after)
            self._offer(batch)

    def end(self) -> None:
        """The end of the input, after which all windows are published."""
        batch, after = self.progress.ended(self.now)
        if batch.is_empty:
            return
        self._commit(batch, after)
        self._offer(batch)
        self.flush()

    def _offer(self, batch: Batch) -> None:
        if due(batch.firings):
            self.queue.add(DueFirings(batch.firings, batch.batch_id, self.now))

    def _commit(self, batch: Batch, after: Progress) -> None:
        self.resources.ledger.commit(batch.ledger_rows(self.now))
        self.progress = after

    def flush(self) -> None:
        """Publishes what waits, again where the store refuses."""
        while waiting := self.queue.take():
            self.publish(waiting)

    def publish(self, waiting: DueFirings) -> int | None:
        """Publishes due firings and returns its batch; None where the store refuses, a few times at most."""
        try:
            publish_due(self.resources, self.publication, waiting.firings, waiting.batch)
        except Exception as error:
            self.tries -= 1
            if not is_of_store(error) or not self.tries:
                raise
            return None
        self.queue.landed()
        self.tries = _ATTEMPTS
        return waiting.batch

    def tend(self, batch: Batch) -> None:
        """Does all steps of upkeep; what the store refuses is left to the next time."""
        for step in self.steps(batch):
            del step

    def steps(self, batch: Batch) -> Iterator[None]:
        """Yields after each step of upkeep."""
        try:
            yield from self.upkeep.steps(batch)
        except Exception as error:
            if not is_of_store(error):
                raise
            self.errors.append(error)

    def publish_and_tend(self) -> None:
        """The publisher's thread until it has nothing to do: publications, and steps of upkeep in their turn."""
        published: int | None = None
        while not isinstance(step := next_step(self._publisher_state(published), now_s=0), Sleep):
            if isinstance(step, Maintain) and self.pending:
                published = None
                if next(self.pending[0], self) is self:
                    self.pending = None
            elif waiting := self.queue.take():
                published = self.publish(waiting)

    def _publisher_state(self, published: int | None) -> PublisherState:
        return PublisherState(self.queue.batches, self.pending[1] if self.pending else None, published)

    def run(self, batches: int, size: int = 3) -> None:
        """Starts and takes batches, until some are committed or the topic ends."""

        def work() -> None:
            self.open()
            for _ in range(batches):
                if not self.is_done:
                    self.take(size)
            self.flush()

        self.attempt(work, again=False)
        for _ in range(_ATTEMPTS - 1):
            if self.failed:
                self.attempt(work, again=False)

    def attempt(self, work: Callable[[], object], *, again: bool = True) -> None:
        """Works; after a failure it starts `again`, as its supervisor does, unless it was replaced."""
        self.failed = False
        try:
            work()
        except (Replaced, SetUpError) as error:
            self.errors.append(error)
            self.failed = self._starts_again(error)
        except Exception as error:  # noqa: BLE001 - the supervisor starts again
            self.errors.append(error)
            self.failed = True
        if self.failed and again:
            self.run(1)

    def _starts_again(self, error: Exception) -> bool:
        """Whether the supervisor makes another attempt after a final error."""
        return type(error).__name__ == "Unreachable" and self.own.epoch is not None
