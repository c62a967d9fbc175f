"""From the simulator to the tables: what was sent, with all its disorder, is what is found."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.support.against_truth import assert_matches_truth
from tests.support.kafka_cluster import Cluster
from tests.support.services import Clock, settings_of
from tests.support.topic_writer import event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import rows, table
from tidemark.pipeline.app import open_service
from tidemark.pipeline.event_time.checks import DETAILS, Check
from tidemark.pipeline.settings.model import Settings
from tidemark.producers.cli import main as produce
from tidemark.producers.truth import COUNTS, Truth

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
PARTITIONS = 4
# 10 minutes of event time; what is late is ten minutes late, and jitter stays within the bound.
DISORDER = (
    *("--events", "6000", "--event-rate", "10", "--users", "300", "--seed", "5", "--truth-window", "1m"),
    *("--jitter", "9s", "--late-share", "0.02", "--late-by", "10m", "--late-after", "2m"),
    *("--future-share", "0.01", "--malformed-share", "0.03"),
)
CHECKS = {
    "bad_magic": Check.MAGIC_BYTE,
    "unknown_schema": Check.SCHEMA_ID,
    "truncated": Check.AVRO,
    "huge_string": Check.AVRO,
    "empty_user": Check.USER_ID,
    "zero_time": Check.EVENT_TIME,
    "empty_value": Check.EMPTY_VALUE,
    "tombstone": Check.EMPTY_VALUE,
}
HOUR_MS = 3_600_000
PATIENCE_S = 600
PATIENT = {"bound": "10s", "allowed_lateness": "1m", "idle_timeout": "1h"}


def test_a_running_service_makes_of_a_disorderly_stream_what_was_sent(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, warehouse = make_topic(PARTITIONS), tmp_path / 'o\'brien `s` #1 "日本" & $x;'
    settings = settings_of(broker, topic, warehouse, time=PATIENT, batch={"interval": "200ms"})
    with running(settings):
        first = simulated(broker, topic, tmp_path / "first.json", "--rate", "3000", "--start-time", "2026-01-01T00:00Z")
        wait_for(lambda: committed(warehouse) == sum(first.sent.values()), PATIENCE_S, "the commit of the first part")
        # Events ten minutes late in the second part belong to windows that the first part has closed.
        second = simulated(
            broker, topic, tmp_path / "second.json", "--rate", "3000", "--start-time", "2026-01-01T00:10Z"
        )
        truth = together(first, second)
        whole = close_all_windows(broker, topic, truth, range(PARTITIONS))
        wait_for(lambda: committed(warehouse) == sum(whole.sent.values()), PATIENCE_S, "the last commit")
    balance = assert_matches_truth(warehouse, whole)
    assert balance.too_late > 0
    assert (balance.watermark or 0) >= end_of(truth)
    assert details(warehouse) == expected_details(truth)


def test_a_partition_that_falls_silent_holds_no_window_back(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, warehouse, clock = make_topic(PARTITIONS), tmp_path / "warehouse", Clock()
    with open_service(settings_of(broker, topic, warehouse, time=PATIENT), now=clock) as service:
        silence = ("--silent-partition", "2", "--silent-after", "3m")
        truth = simulated(broker, topic, tmp_path / "truth.json", "--rate", "0", *silence)
        service.drain()
        held_at = assert_matches_truth(warehouse, truth).watermark or 0
        clock.move(HOUR_MS)
        whole = close_all_windows(broker, topic, truth, [0, 1, 3])
        service.drain()
    assert held_at < end_of(truth) - 5 * 60_000
    assert (assert_matches_truth(warehouse, whole).watermark or 0) >= end_of(truth)


@contextmanager
def running(settings: Settings) -> Iterator[None]:
    """A service at work in a thread of its own, stopped in good order; what it raises, the test raises."""
    stopping, failures = threading.Event(), list[BaseException]()

    def work() -> None:
        try:
            with open_service(settings) as service:
                service.run(stopping)
        except BaseException as error:  # noqa: BLE001 - carried to the test's own thread
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        wait_for(lambda: failures or opened(Path(settings.warehouse)), PATIENCE_S, "the epoch's opening")
        yield
    finally:
        stopping.set()
        thread.join()
    assert not failures, failures


def opened(warehouse: Path) -> bool:
    return (warehouse / "ledger" / "_delta_log").is_dir() and len(table(warehouse, "ledger")) > 0


def simulated(broker: Cluster, topic: str, file: Path, *options: str) -> Truth:
    """Run the simulator to its end; what it says it sent."""
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, "--truth", str(file))
    assert produce(["simulate", *where, *DISORDER, *options]) == 0
    truth = Truth.load(file)
    assert [kind for kind, number in truth.sent.items() if not number] == ["duplicate"]
    assert min(truth.malformed.values()) > 0
    return truth


def end_of(truth: Truth) -> int:
    """The end of the last window that the truth knows."""
    return int(pc.max(truth.on_time["window_start"]).as_py()) + truth.window_ms


def together(one: Truth, other: Truth) -> Truth:
    """Both parts of a stream."""
    return replace(
        one,
        sent={kind: count + other.sent[kind] for kind, count in one.sent.items()},
        malformed={kind: count + other.malformed[kind] for kind, count in one.malformed.items()},
        on_time=pa.concat_tables([one.on_time, other.on_time]),
        too_late=pa.concat_tables([one.too_late, other.too_late]),
    )


def close_all_windows(broker: Cluster, topic: str, truth: Truth, partitions: Sequence[int]) -> Truth:
    """Send what moves the watermark over the end of the last window; the truth with it."""
    at = end_of(truth) + truth.window_ms
    send(broker.bootstrap_servers, topic, [event("marker", at, partition=partition) for partition in partitions])
    cell = {"user_id": "marker", "window_start": at, "page_views": len(partitions), "clicks": 0}
    on_time = pa.concat_tables([truth.on_time, pa.Table.from_pylist([cell], schema=COUNTS)])
    sent = {**truth.sent, "on_time": truth.sent["on_time"] + len(partitions)}
    return replace(truth, sent=sent, on_time=on_time)


def committed(warehouse: Path) -> int:
    """Returns the number of records in the ledger."""
    return int(pc.sum(table(warehouse, "ledger")["records"]).as_py() or 0)


def details(warehouse: Path) -> Counter[str]:
    """How many malformed records failed which check."""
    return Counter(row["detail"] for row in rows(warehouse, "dead_letters") if row["reason"] == "malformed")


def expected_details(truth: Truth) -> Counter[str]:
    """Returns the expected counts from what the simulator did."""
    expected = Counter[str]()
    for kind, count in truth.malformed.items():
        expected[DETAILS[CHECKS[kind]]] += count
    return expected
