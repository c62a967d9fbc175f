"""The scenes of the test of alerts: each breaks a part, waits for the alert, mends it, and waits until it ends."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer, TopicPartition

from benchmarks.measure import children
from demo.broker import Broker
from demo.topics import admin
from tests.chaos.rules import Action, Rule
from tests.crash.alert_stage import A_SECOND, HOUR_MS, MINUTE_MS, PARTITIONS, TOPIC, Stage, event
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_S

OLD_MS = 20 * MINUTE_MS
NO_RESULTS = Rule("outage", "create,write,link", "page_views/*", Action.FAIL, lasting=True)
OF_SHARES = ("TidemarkMostRejected", "TidemarkMalformedShareHigh", "TidemarkFutureShareHigh", "TidemarkLateShareHigh")
"""They end once the ten minutes of their rates are over."""


def a_replay_of_old_events(stage: Stage) -> None:
    """The site has sent old events since before the service started; then one partition still does."""
    stage.expect(stage.alert("TidemarkWatermarkLag", "critical"))
    stage.site.ahead_ms |= {0: 0, 1: 0}
    stage.expect(stage.alert("TidemarkPartitionStuck", "critical", partition="2"))
    stage.site.ahead_ms[2] = 0
    stage.silent("TidemarkPartitionStuck", "TidemarkWatermarkLag")


@contextmanager
def a_silent_partition(stage: Stage) -> Iterator[None]:
    """A partition is silent meanwhile, and until its alert."""
    stage.site.per_second[1] = 0
    yield
    stage.expect(stage.alert("TidemarkPartitionSilent", "warning", partition="1", warehouse=stage.warehouse))
    stage.site.per_second[1] = A_SECOND
    stage.silent("TidemarkPartitionSilent")


def a_malformed_flood(stage: Stage) -> None:
    stage.site.malformed_share = 0.7
    malformed = stage.alert("TidemarkMalformedShareHigh", "warning", reason="malformed")
    stage.expect(malformed, stage.alert("TidemarkMostRejected", "critical"))
    stage.site.malformed_share = 0


def clocks_that_are_hours_wrong(stage: Stage) -> None:
    """Some senders are ahead; then some events are too late."""
    stage.site.wrong_share, stage.site.wrong_ms = 0.2, HOUR_MS
    stage.expect(stage.alert("TidemarkFutureShareHigh", "warning", reason="future"))
    stage.site.wrong_ms = -HOUR_MS
    stage.expect(stage.alert("TidemarkLateShareHigh", "warning", reason="too_late"))
    stage.site.wrong_share = 0


def open_transaction(broker: Broker, topic: str, minutes: int) -> Producer:
    """Writes an event to partition 2 in a transaction that the broker aborts after some minutes."""
    open_long = {"transactional.id": "hanging", "transaction.timeout.ms": minutes * MINUTE_MS}
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **open_long})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, event(), b"ann", 2)
    producer.flush()
    return producer


@contextmanager
def an_open_transaction(stage: Stage) -> Iterator[None]:
    """A transaction is open meanwhile, and for the two minutes until its alert."""
    producer = open_transaction(stage.broker, TOPIC, 15)
    yield
    stage.expect(stage.alert("TidemarkTransactionOpen", "critical", partition="2"))
    producer.abort_transaction(PATIENCE_S)
    stage.silent("TidemarkTransactionOpen")


def a_store_that_refuses(stage: Stage) -> None:
    stage.faults.set([NO_RESULTS])
    stage.expect(stage.alert("TidemarkPublicationFailing", "critical"))
    stage.faults.end(NO_RESULTS.name)
    stage.silent("TidemarkPublicationFailing")


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stops a process, and continues it at the end."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def a_batch_that_hangs(stage: Stage, process: Process) -> None:
    """Spark's Java process is stopped."""
    (java,) = children(process.popen.pid)
    with stopped(java):
        stage.expect(stage.alert("TidemarkNoCommit", "critical"))
    stage.silent("TidemarkNoCommit")


def a_service_that_does_not_answer(stage: Stage, process: Process) -> None:
    with stopped(process.popen.pid):
        stage.expect(stage.alert("TidemarkDown", "critical"))


def a_service_that_is_no_target(stage: Stage) -> None:
    """Prometheus has another target of the job, itself; then it has no target."""
    stage.watching.watch(stage.watching.port)
    missing = stage.alert("TidemarkMissing", "critical", warehouse=stage.warehouse)
    stage.expect(without_instance(missing))
    stage.watching.watch()
    stage.expect(without_instance(stage.alert("TidemarkAbsent", "critical")))
    stage.watching.watch(stage.port)
    stage.silent("TidemarkDown", "TidemarkMissing", "TidemarkAbsent")


def without_instance(alert: dict[str, str]) -> dict[str, str]:
    """Returns the labels of an alert that is not about an instance."""
    return {name: value for name, value in alert.items() if name != "instance"}


def an_overload(stage: Stage) -> None:
    """More arrives than is read, until retention has deleted what was read; the next service reads all."""
    stage.site.per_second = dict.fromkeys(range(PARTITIONS), 30 * A_SECOND)
    stage.expect(stage.alert("TidemarkRecordLagGrowing", "warning"))
    committed = int(stage.value('tidemark_partition_committed_offset{partition="0"}'))
    client = admin(stage.broker.bootstrap_servers)  # stored: without it the answer would not come
    (deleted,) = client.delete_records([TopicPartition(TOPIC, 0, committed)]).values()
    deleted.result(PATIENCE_S)
    stage.expect(stage.alert("TidemarkRetentionNear", "critical", partition="0"))
    stage.site.per_second = dict.fromkeys(range(PARTITIONS), A_SECOND)


def a_rollout(stage: Stage, old: Process, second: int) -> None:
    """A single replacement is no alert: the old service is not missed. The new one is the service from now on."""
    stage.watching.watch(stage.port, second)
    assert old.wait(PATIENCE_S) == 1
    stage.sees(f'max_over_time(up{{instance="127.0.0.1:{stage.port}"}}[15s]) == 0')
    stage.expect()
    stage.port = second
    stage.silent("TidemarkRecordLagGrowing", "TidemarkRetentionNear")


def a_broker_that_is_away(stage: Stage) -> None:
    stage.sees(f'changes(tidemark_batches_total{{instance="127.0.0.1:{stage.port}"}}[5m]) > 2')
    stage.broker.kill()
    stage.expect(stage.alert("TidemarkFailing", "critical", kind="broker"))
    stage.broker.start()
    stage.silent("TidemarkFailing")
