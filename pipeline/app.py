"""The composition root: settings become a running service, and nowhere else are real parts chosen."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from pipeline.errors import SetUpError, Unreachable
from pipeline.event_time.policy import Policy
from pipeline.fold.fold_plan import FoldPlan
from pipeline.fold.record_columns import BatchContext
from pipeline.instants import now_ms
from pipeline.kafka.mirror import OffsetMirror
from pipeline.kafka.registry import Registry
from pipeline.kafka.stream import Stream
from pipeline.kafka.topic import connect
from pipeline.metrics.exporter import Exporter
from pipeline.metrics.observer import Host, Observer
from pipeline.runtime.java_process import java_pid
from pipeline.runtime.limits import give_back_freed
from pipeline.runtime.spark import spark_session
from pipeline.service.batch_loop import Service
from pipeline.service.publisher import Publisher, publish_due
from pipeline.service.recovery import OwnEpoch, open_epoch
from pipeline.service.resources import Clock, Resources
from pipeline.service.runner import RunningService
from pipeline.service.schema_store import SchemaStore
from pipeline.settings.durations import milliseconds
from pipeline.settings.load import require
from pipeline.settings.model import Settings
from pipeline.settings.secrets import pseudonyms_from
from pipeline.tables.durable import local
from pipeline.tables.event_schemas import schemas_of
from pipeline.tables.executors import SparkExecutors
from pipeline.tables.file_statistics import space
from pipeline.tables.large import Large
from pipeline.tables.ledger import Ledger
from pipeline.tables.probe import require_conditional_writes
from pipeline.tables.schemas import LEDGER, is_table
from schemas.fields import EventSchemas


def serve(settings: Settings, now: Clock = now_ms) -> Exporter:
    """The HTTP endpoint of a process, which may outlive many services; the caller closes it. Raises SetUpError."""
    require_all(settings)
    host = Host(settings.warehouse, partial(space, settings.warehouse), java_pid)
    return Exporter(Observer(settings.metrics, settings.policy(), now, host=host), settings.metrics)


@contextmanager
def open_service(
    settings: Settings,
    now: Clock = now_ms,
    own_epoch: OwnEpoch | None = None,
    exporter: Exporter | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[RunningService]:
    """A service that has opened its epoch; everything is closed again in reverse order.

    `now` gives the service's clock in epoch milliseconds. `own_epoch` and `exporter` are kept by a process that opens
    a warehouse again and again, `wait` is how it lets time pass. Raises SetUpError where something must be put right
    first, Unreachable where broker or store did not answer, Replaced if a newer service took over.
    """
    require_all(settings)
    give_back_freed()
    own_epoch = own_epoch or OwnEpoch()
    with ExitStack() as stack:
        page = exporter or stack.enter_context(closing(serve(settings, now)))
        page.observer.opening()
        if own_epoch.epoch is None:
            require_conditional_writes(settings.warehouse)
        elif not is_table(LEDGER.uri(settings.warehouse)):
            # A store that is not mounted looks like a new warehouse, and must not become one.
            raise Unreachable(f"the warehouse {settings.warehouse} is gone since epoch {own_epoch.epoch} was opened")
        resources = _resources(settings, now, stack, page.observer, wait)
        opened = open_epoch(resources, settings.kafka, own_epoch)
        publisher = Publisher(partial(publish_due, resources, opened.publication), page.observer, now)
        stack.callback(publisher.close)
        service = Service(resources, opened, publisher)
        stack.callback(service.close)
        stream = Stream(resources.spark, settings.kafka, settings.batch, service.take)
        tick_s = milliseconds(settings.time.interval) / 1000
        yield RunningService(service, stream, publisher, resources, page.port, tick_s)


def require_all(settings: Settings) -> None:
    """Raises SetUpError where something that a service needs is not set."""
    require(settings, "kafka.bootstrap_servers", "kafka.topic", "warehouse")


def _resources(
    settings: Settings, now: Clock, stack: ExitStack, observer: Observer, wait: Callable[[float], None]
) -> Resources:
    """Cheap checks first, so that a mistake is told before Spark starts."""
    named = settings.schemas.registry
    registry = Registry(named) if named.url else None
    pseudonyms = pseudonyms_from(settings.privacy.pseudonym_key_file)
    schemas = SchemaStore(schemas_of(settings), registry, settings.warehouse)
    policy = settings.policy()
    topic = connect(settings.kafka, wait)
    observer.follow(topic.log_ends)
    spark = spark_session(settings.spark, settings.log_format)
    schemas.at_start(subject_of(settings))
    check_sql(spark, schemas.known, policy)
    mirror = OffsetMirror(settings.kafka)
    stack.callback(mirror.close)
    return Resources(
        spark=spark,
        warehouse=settings.warehouse,
        policy=policy,
        schemas=schemas,
        malformed=settings.dead_letters.malformed(),
        topic=topic,
        ledger=Ledger(settings.warehouse),
        mirror=mirror,
        observer=observer,
        now=now,
        retention=settings.keep_by_table(),
        large=_large(spark, settings, observer),
        pseudonyms=pseudonyms,
    )


def _large(spark: SparkSession, settings: Settings, observer: Observer) -> Large:
    """What is for the executors: nothing, where they cannot be told to reach the warehouse."""
    how = settings.spark.large
    here = local(settings.warehouse) is not None and (spark.sparkContext.master or "").startswith("local")
    reached = how == "executors" or (how == "auto" and here)
    return Large(SparkExecutors(spark) if reached else None, settings.spark.large_from, observer.given)


def check_sql(spark: SparkSession, schemas: EventSchemas, policy: Policy) -> None:
    """Plans a fold of nothing, in which a mistake in the settings' SQL shows, or that events have no id to go by."""
    sql = {f"reports.{report.name}.where": report.where for report in policy.reports}
    given = [name for name, text in {**sql, "time.marker": policy.strategy.marker}.items() if text]
    if not given and not policy.deduplicate:
        return
    nothing = spark.createDataFrame(
        [], "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
    )
    try:
        FoldPlan(schemas, policy, 1).fold(nothing, BatchContext(None, 0))
    except (AnalysisException, ParseException) as error:
        names = " or ".join(given)
        raise SetUpError(f"{names} is no condition on an event: {str(error).splitlines()[0]}") from error


def registered_schemas(settings: Settings) -> EventSchemas:
    """The schemas that the registry has now, where the settings name one. Raises SetUpError, Unreachable."""
    named = settings.schemas.registry
    if not named.url:
        return schemas_of(settings)
    return EventSchemas(Registry(named).of_subject(subject_of(settings)), settings.schemas.mapping.fields())


def subject_of(settings: Settings) -> str:
    """The registry's name for the versions of a topic's schema."""
    return settings.schemas.registry.subject or f"{settings.kafka.topic}-value"
