"""The real parts a service is made of; only `pipeline.app` chooses them."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipeline.event_time.malformed import MalformedLimit
from pipeline.event_time.policy import Policy
from pipeline.event_time.table_retention import TableRetention
from pipeline.fold.fold_plan import FoldPlan
from pipeline.kafka.mirror import OffsetMirror
from pipeline.kafka.topic import Topic
from pipeline.metrics.observer import Observer
from pipeline.pseudonyms import Pseudonyms
from pipeline.service.schema_store import SchemaStore
from pipeline.tables.changed_meaning import Meaning
from pipeline.tables.large import LargeJobs
from pipeline.tables.ledger import Ledger
from pipeline.tuning import Tuning

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
