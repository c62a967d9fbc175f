"""All checks, each as soon as it can be made. What a start would say, it says in the same words."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from pipeline.app import check_sql, registered_schemas, require_all
from pipeline.commands.preflight import machine_checks, warehouse_checks
from pipeline.commands.preflight.broker_checks import Cluster
from pipeline.commands.preflight.check_result import CheckResult, failure, passed, results_of
from pipeline.errors import SetUpError
from pipeline.fold.duplicates import require_event_id
from pipeline.kafka.topic import connect
from pipeline.runtime.spark import spark_session
from pipeline.settings.model import Settings

_PATIENCE: Final = timedelta(seconds=10)
"""How long a broker is waited for: long enough to answer, and no start that could wait for it."""


def check_results(settings: Settings, now: Callable[[], int]) -> Iterator[CheckResult]:
    """One after the other. Raises SetUpError where settings are missing without which nothing can be looked at."""
    require_all(settings)
    yield passed("settings", "they are right; `tidemark config show` tells where each comes from")
    yield from machine_checks.versions()
    yield from results_of("java", machine_checks.java)
    yield from results_of("jars", machine_checks.jars)
    yield from machine_checks.scratch()
    yield from machine_checks.master(settings)
    yield from machine_checks.traffic(settings)
    yield from results_of("metrics", lambda: machine_checks.metrics(settings))
    yield from results_of("schemas", lambda: _schemas(settings))
    yield from results_of("conditions", lambda: _conditions(settings))
    yield from results_of("warehouse", lambda: warehouse_checks.store(settings.warehouse))
    yield from results_of("reports", lambda: warehouse_checks.reports(settings))
    yield from _of_the_topic(settings, now)


def _schemas(settings: Settings) -> Iterator[CheckResult]:
    schemas = registered_schemas(settings)
    if settings.policy().deduplicate:
        require_event_id(schemas)
    yield passed("schemas", f"versions {', '.join(map(str, schemas.texts))}")


def _conditions(settings: Settings) -> Iterator[CheckResult]:
    """The conditions on fields of an event: only Spark can judge them, so it starts where there are any."""
    policy = settings.policy()
    if policy.strategy.marker or any(report.where for report in policy.reports):
        check_sql(spark_session(settings.spark), registered_schemas(settings), policy)
        yield passed("conditions", "Spark understands them")


def _of_the_topic(settings: Settings, now: Callable[[], int]) -> Iterator[CheckResult]:
    policy, patience = settings.policy(), min(_PATIENCE, settings.kafka.connect_timeout)
    try:
        topic = connect(settings.kafka.model_copy(update={"connect_timeout": patience}))
    except SetUpError as error:
        yield failure("brokers", str(error))
        return
    topic = replace(topic, patience_s=patience.total_seconds())
    cluster = Cluster(topic, now)
    yield from results_of("brokers", cluster.brokers)
    yield from results_of("retention", lambda: cluster.keeping(policy))
    yield from results_of("timestamps", lambda: cluster.timestamps(policy))
    yield from results_of("clocks", cluster.clocks)
    yield from results_of("group", lambda: cluster.group(settings.kafka))
    yield from results_of("start", lambda: warehouse_checks.start(settings, topic, now))
