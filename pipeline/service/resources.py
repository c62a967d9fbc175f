"""The real parts a service is made of; only `tidemark.pipeline.app` chooses them."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tidemark.pipeline.event_time.malformed import MalformedLimit
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.table_retention import TableRetention
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.kafka.mirror import OffsetMirror
from tidemark.pipeline.kafka.topic import Topic
from tidemark.pipeline.metrics.observer import Observer
from tidemark.pipeline.pseudonyms import Pseudonyms
from tidemark.pipeline.service.schema_store import SchemaStore
from tidemark.pipeline.tables.changed_meaning import Meaning
from tidemark.pipeline.tables.large import LargeJobs
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tuning import Tuning

Clock = Callable[[], int]
"""Returns milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The sources from which a service decides where it starts."""

    warehouse: str
    policy: Policy
    topic: Topic
    ledger: Ledger
    now: Clock
    pseudonyms: Pseudonyms | None
    """None if the tables have users in clear."""
    meaning: Meaning


@dataclass(frozen=True, slots=True)
class Resources(Ground):
    """The parts that every step of a batch may use."""

    spark: SparkSession
    schemas: SchemaStore
    plan: FoldPlan
    """The fold as it was planned before the epoch opened."""
    malformed: MalformedLimit
    mirror: OffsetMirror
    observer: Observer
    retention: Mapping[str, TableRetention]
    """By table; what is not named keeps its rows for ever."""
    large: LargeJobs
    """The jobs that executors do, and not this process."""
    tuning: Tuning

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Reports how long a step took. Wall time, even if the service has another clock."""
        began = time.perf_counter()
        yield
        self.observer.stepped(step, time.perf_counter() - began)
