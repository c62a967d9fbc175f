"""Runs all checks, each as early as possible. Reports the same errors as `run`."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from tidemark.pipeline.app import plan_fold, require_all, require_referrer, schema_store
from tidemark.pipeline.commands.preflight import machine_checks, warehouse_checks
from tidemark.pipeline.commands.preflight.broker_checks import Cluster
from tidemark.pipeline.commands.preflight.check_result import CheckResult, Level, failure, passed, results_of
from tidemark.pipeline.commands.preflight.record_checks import check_records
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.kafka.topic import Topic, connect
from tidemark.pipeline.runtime.spark import jar_sets_of, spark_session
from tidemark.pipeline.settings.model import Settings

_PATIENCE: Final = timedelta(seconds=10)
"""Longest wait for a broker; `kafka.connect_timeout` may be much longer."""


def check_results(settings: Settings, now: Callable[[], int]) -> Iterator[CheckResult]:
    """Yields the results one by one. Raises SetUpError if required settings are missing.

    The brokers are asked before Spark starts, because that takes seconds, and a wrong address is a common mistake.
    """
    require_all(settings)
    yield passed("settings", "valid; `tidemark config show` shows the source of each")
    topic = None
    try:
        topic = _connected(settings)
    except SetUpError as error:
        yield failure("brokers", str(error))
    if topic:
        yield from _topic_checks(settings, topic, now)
    yield from machine_checks.check_versions()
    yield from results_of("java", machine_checks.check_java)
    yield from results_of("jars", lambda: machine_checks.check_jars(jar_sets_of(settings)))
    yield from machine_checks.check_scratch()
    yield from machine_checks.check_master(settings)
    yield from machine_checks.check_traffic(settings)
    yield from results_of("metrics", lambda: machine_checks.check_metrics(settings))
    yield from results_of("warehouse", lambda: warehouse_checks.check_store(settings.warehouse))
    yield from results_of("reports", lambda: warehouse_checks.check_reports(settings))
    schemas = [*results_of("schemas", lambda: _schemas(settings))]
    yield from schemas
    if topic and all(result.level is not Level.FAIL for result in schemas):
        yield from results_of("records", lambda: check_records(settings, topic, now))
    if topic:
        yield from results_of("start", lambda: warehouse_checks.check_start(settings, topic, now))


def _connected(settings: Settings) -> Topic:
    """Returns the topic. Raises SetUpError if no broker answers soon, or the topic does not exist."""
    patience = min(_PATIENCE, settings.kafka.connect_timeout)
    topic = connect(settings.kafka.model_copy(update={"connect_timeout": patience}))
    return replace(topic, patience_s=patience.total_seconds())


def _schemas(settings: Settings) -> Iterator[CheckResult]:
    """Checks that the service can read events of the schemas, with the conditions of the settings."""
    schemas = schema_store(settings)
    schemas.load()
    require_referrer(settings, schemas.known)
    plan_fold(spark_session(settings.spark), schemas.known, settings.policy())
    versions = f"versions {', '.join(map(str, schemas.known.texts))}"
    yield passed("schemas", "JSON, which is read without schemas" if settings.schemas.format == "json" else versions)


def _topic_checks(settings: Settings, topic: Topic, now: Callable[[], int]) -> Iterator[CheckResult]:
    policy, cluster = settings.policy(), Cluster(topic, now)
    yield from results_of("brokers", cluster.check_brokers)
    yield from results_of("retention", lambda: cluster.check_retention(policy))
    yield from results_of("timestamps", lambda: cluster.check_timestamps(policy))
    yield from results_of("clocks", lambda: cluster.check_clocks(policy))
    yield from results_of("group", lambda: cluster.check_group(settings.kafka))
