"""Java is killed: the service says so in a sentence at once, and ends. It goes on if the machine was suspended."""

import json
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from benchmarks.measure import children
from tests.chaos.library import why_not
from tests.chaos.rules import Faults
from tests.chaos.synced import LOGGED, commits, unsynced
from tests.support.against_truth import ledger_version
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.processes import SMALL_DRIVER, Process, tidemark
from tests.support.seeds import SEED
from tests.support.services import ANY_TIMESTAMP
from tests.support.topic_writer import event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import records
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings

pytestmark = pytest.mark.jvm

PATIENCE_S = 600
SENTENCE = "tidemark: Spark's Java process has ended: the next start reads again what was not committed\n"
KILLED = """#!/bin/sh
case "$*" in *-XshowSettings*) ;; *) kill -9 $$ ;; esac
echo '    java.home = {home}' >&2
echo '    java.version = 17' >&2
"""
AT_START = (
    "tidemark: Spark's Java process ended while it started: the lines above are its own; without any it was probably "
    "killed, for example because the memory limit is too low\n"
)


@pytest.mark.nightly
def test_a_service_on_a_machine_that_was_suspended_goes_on(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    chance, topic, warehouse = Random(SEED), make_topic(**ANY_TIMESTAMP), tmp_path / "warehouse"
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, "--warehouse", str(warehouse))
    # By default Java exits when sixty heartbeats were missed, which takes ten minutes.
    often = {
        "spark.executor.heartbeatInterval": "100ms",
        "spark.network.timeout": "2s",
        "spark.network.timeoutInterval": "50ms",
    }
    driver = {"TIDEMARK_SPARK__CONF": json.dumps(BRIEF_DRIVER | often)}
    with tidemark(tmp_path / "service.log", "run", *where, "--metrics.port", "0", driver=driver) as service:
        for count in range(1, 9):
            send(broker.bootstrap_servers, topic, [event("ann", 1_790_820_000_000 + count)])
            await_events(service, warehouse, count)
            service.send_to_group(signal.SIGSTOP)
            assert service.lives_for(chance.uniform(8, 10)), service.said
            service.send_to_group(signal.SIGCONT)
        service.send(signal.SIGTERM)
        assert service.wait(PATIENCE_S) == 0, service.said
    assert_conserved(warehouse)


def await_events(service: Process, warehouse: Path, count: int) -> None:
    """Returns when the service has committed `count` records; fails if it ends."""
    wait_for(lambda: records(warehouse) == count or not service.alive, PATIENCE_S, f"{count} records")
    assert service.alive, service.said


@pytest.mark.core
@pytest.mark.parametrize(
    "busy", [True, pytest.param(False, marks=pytest.mark.nightly)], ids=["batches_run", "there_is_nothing_to_do"]
)
def test_a_killed_java_process_ends_the_service_with_one_sentence_and_each_commit_was_synced_before_the_next(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, busy: bool
) -> None:
    topic, warehouse = make_topic(**ANY_TIMESTAMP), tmp_path / "warehouse"
    count = 5000 if busy else 1
    send(broker.bootstrap_servers, topic, [event("ann", 1_790_820_000_000 + number) for number in range(count)])
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, "--warehouse", str(warehouse))
    cut = ("--batch.max-records", "10", "--batch.interval", "0s", "--metrics.port", "0")
    faults = Faults(tmp_path / "faults", warehouse)
    faults.set([LOGGED])
    logged = {} if why_not() else faults.environment
    with tidemark(tmp_path / "service.log", "run", *where, *cut, driver={**SMALL_DRIVER, **logged}) as service:
        goal = 4 if busy else 2
        wait_for(lambda: ledger_version(warehouse) >= goal or not service.alive, PATIENCE_S, "a commit")
        (java,) = children(service.popen.pid)
        os.kill(java, signal.SIGKILL)
        assert service.wait(PATIENCE_S) == 1, service.said
    assert service.said.endswith(SENTENCE), service.said
    assert "Traceback" not in service.said
    assert "Py4J" not in service.said
    balance = assert_conserved(warehouse)
    assert (balance.counted < count) == busy
    if logged:
        assert len([*commits(warehouse, faults.log("all"))]) >= goal - 1
        assert not unsynced(warehouse, faults.log("all"))


def test_a_java_process_that_ends_while_it_starts_ends_the_service_with_one_sentence(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    """A memory limit may kill Java at each start; this `java` prints its version, and is killed otherwise."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(KILLED.format(home=java.parents[1]))
    java.chmod(0o755)
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", make_topic(**ANY_TIMESTAMP))
    run = ("run", *where, "--warehouse", str(tmp_path / "warehouse"), "--metrics.port", "0")
    environment = {**SMALL_DRIVER, "JAVA_HOME": str(java.parents[1])}
    with tidemark(tmp_path / "service.log", *run, driver=environment) as service:
        assert service.wait(PATIENCE_S) == 1, service.said
    assert service.said.endswith(AT_START), service.said
    assert "Traceback" not in service.said


@pytest.mark.jvm
def test_py4j_logs_nothing_about_a_failed_call_in_addition_to_our_sentence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The call into Python fails where Java ends during it, before it comes to what is ours."""

    def fails(_: DataFrame, number: int) -> None:
        raise OSError(number)

    with caplog.at_level(logging.WARNING):
        stream = spark_session(SparkSettings(conf=BRIEF_DRIVER)).readStream.format("rate").load()
        query = stream.writeStream.foreachBatch(fails).start()
        with pytest.raises(StreamingQueryException):
            query.awaitTermination(PATIENCE_S)
    assert not [record for record in caplog.records if record.name.startswith("py4j")]
