"""The composition root: makes a running service from settings. Only this module chooses real parts."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from tidemark.pipeline.decoding.decode import decoded, empty_events, may_have_field, reader
from tidemark.pipeline.errors import SetUpError, Unreachable
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.fold.dimension_columns import require_single_values, sql_of
from tidemark.pipeline.fold.field_values import require_values
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.pseudonym_columns import ToPseudonym, pseudonymizer
from tidemark.pipeline.fold.record_columns import BatchContext, needed_fields
from tidemark.pipeline.fold.sound_sql import require_sound
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.kafka.mirror import OffsetMirror
from tidemark.pipeline.kafka.registry import Registry
from tidemark.pipeline.kafka.stream import Stream
from tidemark.pipeline.kafka.topic import connect
from tidemark.pipeline.metrics.certificates import certificate_ends
from tidemark.pipeline.metrics.exporter import Exporter
from tidemark.pipeline.metrics.observer import Host, Observer
from tidemark.pipeline.runtime.java_process import java_pid
from tidemark.pipeline.runtime.limits import return_freed_memory
from tidemark.pipeline.runtime.spark import jar_sets_of, spark_session
from tidemark.pipeline.service.batch_loop import Service
from tidemark.pipeline.service.publisher import Publisher, publish_due
from tidemark.pipeline.service.recovery import OwnEpoch, open_epoch
from tidemark.pipeline.service.resources import Clock, Resources
from tidemark.pipeline.service.runner import RunningService
from tidemark.pipeline.service.schema_store import SchemaStore
from tidemark.pipeline.settings.durations import milliseconds
from tidemark.pipeline.settings.load import require
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.secrets import pseudonyms_from
from tidemark.pipeline.tables.changed_meaning import Meaning
from tidemark.pipeline.tables.durable import local
from tidemark.pipeline.tables.event_schemas import schemas_of
from tidemark.pipeline.tables.executors import SparkExecutors, require_client
from tidemark.pipeline.tables.file_statistics import space
from tidemark.pipeline.tables.large import LargeJobs
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.probe import require_conditional_writes
from tidemark.pipeline.tables.schemas import LEDGER, is_table
from tidemark.pipeline.tuning import STANDARD, Tuning
from tidemark.schemas.fields import EventSchemas


def serve(settings: Settings, now: Clock = now_ms) -> Exporter:
    """Opens the HTTP endpoint, which may outlive many services; the caller closes it. Raises SetUpError."""
    require_all(settings)
    ends = partial(certificate_ends, settings.kafka, settings.metrics)
    host = Host(settings.warehouse, partial(space, settings.warehouse), java_pid, ends)
    observer = Observer(
        settings.metrics, settings.policy(), now, host=host, interval_ms=milliseconds(settings.batch.interval)
    )
    return Exporter(observer, settings.metrics)


@contextmanager
def open_service(
    settings: Settings,
    now: Clock = now_ms,
    own_epoch: OwnEpoch | None = None,
    exporter: Exporter | None = None,
    wait: Callable[[float], None] = time.sleep,
    tuning: Tuning = STANDARD,
) -> Iterator[RunningService]:
    """Opens a service and its epoch; closes all parts in reverse order.

    `now` is the service's clock in milliseconds since 1970. A process that opens a warehouse repeatedly passes the
    same `own_epoch` and `exporter` each time, and waits by `wait`, which takes seconds. Only tests pass `tuning`.
    Raises SetUpError if a person must act first, Unreachable if broker or store did not answer, Replaced if a newer
    service took over.
    """
    require_all(settings)
    return_freed_memory()
    own_epoch = own_epoch or OwnEpoch()
    with ExitStack() as stack:
        endpoint = exporter or stack.enter_context(closing(serve(settings, now)))
        endpoint.observer.opening()
        if own_epoch.epoch is None:
            require_conditional_writes(settings.warehouse)
        elif not is_table(LEDGER.uri(settings.warehouse)):
            # A store that is not mounted looks like a new warehouse, but must not become a new warehouse.
            raise Unreachable(
                f"the warehouse {settings.warehouse}, in which this service opened epoch {own_epoch.epoch}, is gone"
            )
        resources = _resources(settings, now, stack, endpoint.observer, wait, tuning)
        opened = open_epoch(resources, settings.kafka, own_epoch)
        publisher = Publisher(partial(publish_due, resources, opened.publication), endpoint.observer, now)
        stack.callback(publisher.close)
        service = Service(resources, opened, publisher)
        stack.callback(service.close)
        stream = Stream(resources.spark, settings.kafka, settings.batch, service.take, resources.policy.settling_ms)
        tick_s = milliseconds(settings.time.interval) / 1000
        yield RunningService(service, stream, publisher, resources, endpoint.port, tick_s)


def require_all(settings: Settings) -> None:
    """Raises SetUpError if a setting that a service needs is missing."""
    require(settings, "kafka.bootstrap_servers", "kafka.topic", "warehouse")


def _resources(
    settings: Settings,
    now: Clock,
    stack: ExitStack,
    observer: Observer,
    wait: Callable[[float], None],
    tuning: Tuning,
) -> Resources:
    """Makes the parts. Cheap checks come first, so that a mistake is reported before Spark starts."""
    pseudonyms = pseudonyms_from(settings.privacy.pseudonym_key_file)
    schemas = schema_store(settings, settings.warehouse)
    policy = settings.policy()
    topic = connect(settings.kafka, wait)
    observer.follow(topic.offsets)
    spark = spark_session(settings.spark, settings.log_format, jar_sets_of(settings))
    schemas.load()
    require_referrer(settings, schemas.known)
    to_pseudonym = pseudonymizer(spark, pseudonyms) if pseudonyms else None
    plan = plan_fold(spark, schemas.known, policy, len(topic.log_ends()), to_pseudonym, tuning)
    mirror = OffsetMirror(settings.kafka)
    stack.callback(mirror.close)
    return Resources(
        spark=spark,
        warehouse=settings.warehouse,
        policy=policy,
        schemas=schemas,
        plan=plan,
        malformed=settings.dead_letters.malformed(),
        topic=topic,
        ledger=Ledger(settings.warehouse, many_files=tuning.ledger_files),
        mirror=mirror,
        observer=observer,
        now=now,
        retention=settings.keep_by_table(),
        large=_large(spark, settings, observer),
        pseudonyms=pseudonyms,
        meaning=Meaning.of(settings),
        tuning=tuning,
    )


def _large(spark: SparkSession, settings: Settings, observer: Observer) -> LargeJobs:
    """Returns which jobs executors do: no job, unless it is certain that they reach the warehouse.

    Raises SetUpError if they should reach it and have no client of its store.
    """
    choice, is_folder = settings.spark.large, local(settings.warehouse) is not None
    is_local = is_folder and (spark.sparkContext.master or "").startswith("local")
    reach = choice == "executors" or (choice == "auto" and is_local)
    if reach and not is_folder:
        require_client(spark, settings.warehouse)
    return LargeJobs(SparkExecutors(spark) if reach else None, settings.spark.large_from, observer.assigned)


def require_referrer(settings: Settings, schemas: EventSchemas) -> None:
    """Raises SetUpError if `[site]` would count the hosts of a field that no schema has."""
    field = settings.referrer
    if field and field not in settings.dimensions and not may_have_field(schemas, field.partition(".")[0]):
        raise SetUpError(
            f"[site] counts the hosts of the field {field}, which no schema of the topic has: set site.referrer to the "
            'field or dimension with the page before, or to "" to leave these reports out'
        )


def plan_fold(
    spark: SparkSession,
    schemas: EventSchemas,
    policy: Policy,
    partitions: int = 1,
    to_pseudonym: ToPseudonym | None = None,
    tuning: Tuning = STANDARD,
) -> FoldPlan:
    """Returns a plan with which no records were folded.

    Raises SetUpError if schemas, mapping or SQL of the settings cannot be used.
    """
    sql = {f"reports.{report.name}.where": report.where for report in policy.reports}
    sql |= {f"dimensions.{one.name}": sql_of(one) for one in policy.dimensions}
    sql |= {f"measures.{one.name}": one.sql for one in policy.field_measures}
    conditions = {name: text for name, text in {**sql, "time.marker": policy.strategy.marker}.items() if text}
    no_records = spark.createDataFrame([], "key binary, value binary, partition int, offset long, kafka_timestamp long")
    if policy.dimensions or policy.field_measures:
        events = reader(schemas, *needed_fields(policy))
        fields = empty_events(spark, events)
        require_single_values(fields, events.missing, policy.dimensions)
        require_values(fields, events.missing, policy.field_measures)
    try:
        plan = FoldPlan(schemas, policy, partitions, to_pseudonym, chunk_bytes=tuning.chunk_bytes)
        plan.fold(decoded(no_records, plan.decoding_plan), BatchContext(None, 0))
        if conditions:
            remedy = ", or set schemas.mapping.types.{field} to {declared}" if schemas.format == "json" else ""
            require_sound(spark, reader(schemas, ", ".join(conditions.values())), conditions, remedy)
    except (AnalysisException, ParseException) as error:
        reason = str(error).strip().splitlines()[0]
        names = " or ".join(conditions)
        what = "condition, dimension or measure" if policy.dimensions or policy.field_measures else "condition"
        subject = f"{names} is no {what} on an event" if names else "the schemas cannot be read"
        raise SetUpError(f"{subject}: {reason}") from error
    return plan


def schema_store(settings: Settings, warehouse: str = "") -> SchemaStore:
    """Returns the schemas of the settings, with the registry if there is one; new ones are stored in `warehouse`.

    Raises SetUpError if the registry's settings or a schema cannot be used.
    """
    registry = Registry(settings.schemas.registry, _subject_of(settings)) if settings.schemas.registry.url else None
    return SchemaStore(schemas_of(settings), registry, warehouse, *needed_fields(settings.policy()))


def _subject_of(settings: Settings) -> str:
    """Returns the registry's subject of the topic's schemas."""
    return settings.schemas.registry.subject or f"{settings.kafka.topic}-value"
