"""`run --until-caught-up` on a topic that has ended: its windows are published though some partitions are silent."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kafka_cluster import Cluster
from tests.support.services import Clock, settings_of
from tests.support.topic_writer import Raw, event, send
from tests.support.warehouse import rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main

pytestmark = pytest.mark.broker

NOON = 1_714_564_800_000
MINUTE = 60_000


def test_silent_and_empty_partitions_do_not_hold_back_the_windows_of_the_others(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # partition 0, 1:  an event every five minutes    2:  one at the start    3:  none
    topic, warehouse = make_topic(partitions=4), tmp_path / "warehouse"
    sent = [at(NOON + step * 5 * MINUTE, partition) for step in range(6) for partition in (0, 1)]
    send(broker.bootstrap_servers, topic, [at(NOON, 2), *sent])
    assert main(run(broker, topic, warehouse)) == 0
    published = [(row["window_start"].minute, row["page_views"]) for row in rows(warehouse, "page_views")]
    assert sorted(published) == sorted([(0, 3), *((5 * step, 2) for step in range(1, 5))])
    # The newest window waits for the bound; no silent partition is named, and no window that has fired.
    said = capsys.readouterr().err
    assert re.search(r"windows_still_open .*held_by_partitions=\[0, 1\] open={'page_views': 1, .*'tidemark live'", said)


def test_an_empty_partition_is_waited_for_once(broker: Cluster, make_topic: Callable[..., str], tmp_path: Path) -> None:
    # the first run at 0 s    the next at 29 s    and at 31 s: the ledger has known the partition for the idle timeout
    topic, clock, waits = make_topic(partitions=2), Clock(), list[list[float]]()
    settings = settings_of(broker, topic, tmp_path / "warehouse", time={"idle_timeout": "30s"})
    for step, elapsed_ms in enumerate((0, 29_000, 2_000)):
        clock.move(elapsed_ms)
        send(broker.bootstrap_servers, topic, [at(NOON + step * 5 * MINUTE, 0)])
        with open_service(settings, now=clock) as service:
            service.drain()
            waits.append([])
            service.settle(waits[-1].append)
    assert waits == [[30], [1], []]
    assert [row["page_views"] for row in rows(tmp_path / "warehouse", "page_views")] == [1, 1]


def test_a_topic_of_another_format_is_a_failure_that_says_why(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = make_topic(partitions=1)
    send(broker.bootstrap_servers, topic, [Raw(b'{"user": "ann"}'), Raw(b"\x00\x00\x00\x00\x09abc")])
    assert main(run(broker, topic, tmp_path / "warehouse")) == 1
    said = capsys.readouterr().err
    assert "no event counted among 2 records" in said
    assert "1 no schema has this schema id" in said


def test_the_end_of_input_fires_and_closes_every_window_of_every_kind(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, warehouse = make_topic(partitions=2), tmp_path / "warehouse"
    send(broker.bootstrap_servers, topic, [at(NOON, 0), at(NOON + MINUTE, 0)])
    kinds = {
        "grid": {},
        "days": {"window": {"size": "1d", "zone": "Europe/Berlin"}},
        "visits": {"keys": ["user_id"], "window": {"gap": "30m"}},
    }
    ended = [*run(broker, topic, warehouse)[:-1], "--reports", json.dumps(kinds), "--totals.gap", "30m"]
    assert main([*ended, "--end-of-input"]) == 0
    counts = {name: sorted(row["page_views"] for row in rows(warehouse, name)) for name in (*kinds, "user_totals")}
    assert counts == {"grid": [1, 1], "days": [2], "visits": [2], "user_totals": [2]}
    assert main(["verify", "--warehouse", str(warehouse)]) == 0
    assert main(["status", "--warehouse", str(warehouse), "--report", "grid"]) == 0
    assert "at the end of the input" in capsys.readouterr().out
    # Whatever comes later is late, and a start says so.
    send(broker.bootstrap_servers, topic, [at(NOON + 60 * MINUTE, 1)])
    assert main([*ended, "--until-caught-up"]) == 0
    assert "ended with --end-of-input" in capsys.readouterr().err
    assert [row["reason"] for row in rows(warehouse, "dead_letters")] == ["too_late"]


def run(broker: Cluster, topic: str, warehouse: Path) -> list[str]:
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, "--warehouse", str(warehouse))
    rules = ("--metrics.port", "0", "--time.bound", "1s", "--time.idle-timeout", "2s")
    return ["run", *where, *rules, "--until-caught-up"]


def at(time: int, partition: int) -> Raw:
    record = event("ann", time)
    return Raw(record.value, record.key, partition, time)
