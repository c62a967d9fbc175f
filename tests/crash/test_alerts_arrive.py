"""A service broken in many ways: each time its alert arrives, and no other, and ends; a rollout is no alert.

One broker, one Prometheus and one Alertmanager for all of it, with the rules that are shipped; only their durations are
shorter (`FASTER`). The dashboards' queries are asked while the service is well. `-s` prints the seconds of each alert.
"""

import json
import re
from collections.abc import Sequence
from math import isnan
from pathlib import Path

import pytest

from demo.broker import Broker
from demo.children import free_port
from dev.dashboards.__main__ import FOLDER
from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.rules import Faults
from tests.crash import alert_scenes as scenes
from tests.crash.alert_stage import A_SECOND, PARTITIONS, PATIENCE_S, Stage, at_work, service
from tests.deploy.rules import queries, tool
from tests.support.monitoring import monitoring
from tests.support.processes import Process
from tests.support.waiting import wait_for
from tests.support.warehouse import EPOCH

FEW = ("--batch.max-records", "500")
"""A service that can be overloaded."""
MANY = ("--batch.max-records", "20000")
OF_OTHERS = re.compile(
    r"^WARNING: Using incubator modules.*\n"
    r"|\nthread '[^']+' .*panicked.*\n.*\n|^stack backtrace:\n|^note: Some details.*\n",
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
def test_each_failure_fires_its_alert_and_no_other_until_it_is_mended(tmp_path: Path) -> None:
    tool("prometheus")  # before anything is started
    first, second, faults = free_port(), free_port(), Faults(tmp_path / "faults", tmp_path / "warehouse")
    with Broker(tmp_path / "broker", heap="256m") as broker, at_work(broker) as site:
        site.ahead_ms = dict.fromkeys(range(PARTITIONS), -scenes.OLD_MS)
        with service(tmp_path, broker, first, *FEW, environment=faults.environment) as process:
            # The first batches are slow, and leave no real lag.
            wait_for(lambda: process.said.count("batch_committed") > 3, PATIENCE_S, "batches")
            with monitoring(tmp_path / "watching", first) as watching:
                stage = Stage(tmp_path, broker, site, watching, faults, first)
                of_one_service(stage, process)
                of_several_services(stage, process, second)


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
    openings = {batch - batch % EPOCH for batch in batches}  # a busy machine may have made it start again
    assert batches == [batch for opening in sorted(openings) for batch in numbered(opening, batches)]
    assert {word["batch"] for word in words if word["event"] == "windows_published"} <= {*openings, *batches}


def numbered(opening: int, batches: Sequence[int]) -> range:
    """Returns the numbers that the batches of an epoch must have."""
    return range(opening + 1, opening + 1 + sum(opening < batch < opening + EPOCH for batch in batches))
