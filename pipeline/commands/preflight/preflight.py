"""Runs all checks, each as early as possible. Reports the same errors as `run`."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from pipeline.app import plan_fold, require_all, schema_store
from pipeline.commands.preflight import machine_checks, warehouse_checks
from pipeline.commands.preflight.broker_checks import Cluster
from pipeline.commands.preflight.check_result import CheckResult, Level, failure, passed, results_of
from pipeline.commands.preflight.record_checks import check_records
from pipeline.errors import SetUpError
from pipeline.kafka.topic import connect
from pipeline.runtime.spark import jar_sets_of, spark_session
from pipeline.settings.model import Settings

_PATIENCE: Final = timedelta(seconds=10)
"""Longest wait for a broker; `kafka.connect_timeout` may be much longer."""


def check_results(settings: Settings, now: Callable[[], int]) -> Iterator[CheckResult]:
    """Yields the results one by one. Raises SetUpError if required settings are missing."""
    require_all(settings)
    yield passed("settings", "valid; `tidemark config show` shows the source of each")
    yield from machine_checks.check_versions()
    yield from results_of("java", machine_checks.check_java)
    yield from results_of("jars", lambda: machine_checks.check_jars(jar_sets_of(settings)))
    yield from machine_checks.check_scratch()
    yield from machine_checks.check_master(settings)
    yield from machine_checks.check_traffic(settings)
    yield from results_of("metrics", lambda: machine_checks.check_metrics(settings))
    schemas = [*results_of("schemas", lambda: _schemas(settings))]
    yield from schemas
    yield from results_of("warehouse", lambda: warehouse_checks.check_store(settings.warehouse))
    yield from results_of("reports", lambda: warehouse_checks.check_reports(settings))
    has_reader = all(result.level is not Level.FAIL for result in schemas)
    yield from _topic_checks(settings, now, has_reader=has_reader)


def _schemas(settings: Settings) -> Iterator[CheckResult]:
    """Checks that the service can read events of the schemas, with the conditions of the settings."""
    schemas = schema_store(settings)
    schemas.load()
    plan_fold(spark_session(settings.spark), schemas.known, settings.policy())
    versions = f"versions {', '.join(map(str, schemas.known.texts))}"
    yield passed("schemas", "JSON, which is read without schemas" if settings.schemas.format == "json" else versions)


def _topic_checks(settings: Settings, now: Callable[[], int], *, has_reader: bool) -> Iterator[CheckResult]:
    policy, patience = settings.policy(), min(_PATIENCE, settings.kafka.connect_timeout)
    try:
        topic = connect(settings.kafka.model_copy(update={"connect_timeout": patience}))
    except SetUpError as error:
        yield failure("brokers", str(error))
        return
    topic = replace(topic, patience_s=patience.total_seconds())
    cluster = Cluster(topic, now)
    yield from results_of("brokers", cluster.check_brokers)
    yield from results_of("retention", lambda: cluster.check_retention(policy))
    yield from results_of("timestamps", lambda: cluster.check_timestamps(policy))
    yield from results_of("clocks", lambda: cluster.check_clocks(policy))
    yield from results_of("group", lambda: cluster.check_group(settings.kafka))
    if has_reader:
        yield from results_of("records", lambda: check_records(settings, topic, now))
    yield from results_of("start", lambda: warehouse_checks.check_start(settings, topic, now))
