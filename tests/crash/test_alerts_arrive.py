"""A service broken in many ways: each time its alert arrives, and no other, and ends; a rollout is no alert.

CI breaks it in one of the four ways that need the service, its store or its broker, another in each run: the metrics
of the rest are counts, from which promtool makes the alerts of every rule. It is broken in all ways each night.

One broker, one Prometheus and one Alertmanager for all of it, with the rules that are shipped; only their durations are
shorter (`FASTER`). The dashboards' queries are asked while the service is well. `-s` prints the seconds of each alert.
"""

import json
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from random import Random

import pytest

from demo.broker import Broker
from demo.children import free_port
from dev.dashboards.__main__ import FOLDER
from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.rules import Faults
from tests.crash import alert_scenes as scenes
from tests.crash.alert_stage import A_SECOND, PARTITIONS, Stage, at_work, service
from tests.deploy.rules import queries, tool
from tests.support.brief_java import BRIEF_JVM
from tests.support.monitoring import monitoring
from tests.support.processes import Process
from tests.support.seeds import SEED, in_turn
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import EPOCH

pytestmark = pytest.mark.broker

FEW = ("--batch.max-records", "500")
"""A service that can be overloaded."""
MANY = ("--batch.max-records", "20000")
"""A service that is never overloaded, on a slow machine either."""
OF_OTHERS = re.compile(
    r"^WARNING: Using incubator modules.*\n"
    r"|\nthread '[^']+' .*panicked.*\n.*\n|^stack backtrace:\n|^note: .*\n",
    re.MULTILINE,
)
"""Lines that Java prints before Spark has configured its log, and lines of delta-rs's threads about refused files.

Each prints three times, and others in between."""
ABSENT_WHEN_WELL = re.compile(r"certificate|last_error|unpublished_since|tidemark_loss")
"""Series of charts that have no value without certificates, failures and deleted records."""


@pytest.mark.broker
@pytest.mark.jvm
@pytest.mark.long
@NEEDS_FAULTS
@in_turn(3, 4)
def test_a_failure_of_store_broker_or_engine_fires_its_alert_and_no_other(tmp_path: Path) -> None:
    with watched(tmp_path, MANY) as (stage, process):
        stage.excused += ("TidemarkDown",)  # on a busy machine an answer to Prometheus may take more than its second
        well(stage)
        match Random(SEED).randrange(4):
            case 0:
                with scenes.an_open_transaction(stage):
                    pass
            case 1:
                scenes.a_store_that_refuses(stage)
            case 2:
                scenes.a_batch_that_hangs(stage, process)
            case _:
                scenes.a_broker_that_is_away(stage)
        process.send(signal.SIGTERM)
        assert process.wait() == 0, process.said
        every_word_is_an_object(OF_OTHERS.sub("", process.said).splitlines())


@pytest.mark.broker
@pytest.mark.jvm
@pytest.mark.nightly
@NEEDS_FAULTS
def test_each_failure_fires_its_alert_and_no_other_until_it_is_mended(tmp_path: Path) -> None:
    with watched(tmp_path, FEW, ahead_ms=-scenes.OLD_MS) as (stage, process):
        of_one_service(stage, process)
        of_several_services(stage, process, free_port())


@contextmanager
def watched(folder: Path, batches: tuple[str, ...], ahead_ms: int = 0) -> Iterator[tuple[Stage, Process]]:
    """Yields a service that commits batches, with what watches it; events are `ahead_ms` ahead of the clock."""
    tool("prometheus")  # before anything is started
    port, faults = free_port(), Faults(folder / "faults", folder / "warehouse")
    with Broker(folder / "broker", heap="256m", options=[BRIEF_JVM]) as broker, at_work(broker) as site:
        site.ahead_ms = dict.fromkeys(range(PARTITIONS), ahead_ms)
        with service(folder, broker, port, *batches, environment=faults.environment) as process:
            # The first batches are slow, and leave no real lag.
            wait_for(lambda: process.said.count("batch_committed") > 3, PATIENCE_S, "batches")
            with monitoring(folder / "watching", port) as watching:
                yield Stage(folder, broker, site, watching, faults, port), process


def of_one_service(stage: Stage, process: Process) -> None:
    scenes.a_replay_of_old_events(stage)
    well(stage)
    with scenes.a_silent_partition(stage):
        scenes.a_malformed_flood(stage)
    with scenes.an_open_transaction(stage):
        scenes.clocks_that_are_hours_wrong(stage)
    scenes.a_store_that_refuses(stage)
    stage.silent(*scenes.OF_SHARES)
    scenes.a_batch_that_hangs(stage, process)
    scenes.a_service_that_does_not_answer(stage, process)
    scenes.a_service_that_is_no_target(stage)
    scenes.an_overload(stage)


def of_several_services(stage: Stage, first: Process, port: int) -> None:
    with service(stage.folder, stage.broker, port, *MANY):
        scenes.a_rollout(stage, first, port)
        *lines, last = OF_OTHERS.sub("", first.said).splitlines()
        assert last.startswith("tidemark: another service has opened epoch ")
        every_word_is_an_object(lines)
        scenes.a_broker_that_is_away(stage)


def well(stage: Stage) -> None:
    """More than the thousand records from which a partition is not quiet; every chart has data."""
    stage.sees(f"min(delta(tidemark_partition_log_end_offset[1d])) > {12 * A_SECOND}")
    for query in (query for file in sorted(FOLDER.glob("*.json")) for query in queries(file)):
        if ABSENT_WHEN_WELL.search(query):
            continue
        values = [float(sample["value"][1]) for sample in stage.watching.ask(query)]
        assert [value for value in values if not isnan(value)], query


def every_word_is_an_object(lines: Sequence[str]) -> None:
    """Log lines of the service, of Spark's JVM and of all between are JSON; a batch has one line, with its number."""
    words = [json.loads(line) for line in lines]
    assert all(word.keys() >= {"event", "level", "timestamp"} for word in words)
    batches = [word["batch"] for word in words if word["event"] == "batch_committed"]
    assert len(batches) > 10
    # A busy machine may have made it start again, with nothing to read afterwards.
    openings = {word["batch"] - word["batch"] % EPOCH for word in words if "batch" in word}
    assert batches == [batch for opening in sorted(openings) for batch in numbered(opening, batches)]
    assert {word["batch"] for word in words if word["event"] == "windows_published"} <= {*openings, *batches}


def numbered(opening: int, batches: Sequence[int]) -> range:
    """Returns the numbers that the batches of an epoch must have."""
    return range(opening + 1, opening + 1 + sum(opening < batch < opening + EPOCH for batch in batches))
