"""After a failed batch or tick the service cannot be used again, so its progress is not committed later."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest
from deltalake.exceptions import DeltaError

from tests.crash.store_faults import Refusal, refusing
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import drawn
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of
from tests.support.topic_writer import event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import EPOCH, batches, has_read, latest_batch, page_views
from tidemark.pipeline.app import open_service
from tidemark.pipeline.service.runner import RunningService
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
START = 1_000_000
PATIENCE_S = 600
REFUSED = pytest.raises(DeltaError, match="failed validation check")
NO_PANES, NO_COMMIT = (Refusal(table, f"batch < {EPOCH + 2}") for table in ("panes", "ledger"))


def by_the_clock(broker: Cluster, topic: str, warehouse: Path, interval: str = "1h") -> Settings:
    """Rules under which ticks alone move the watermark: a time lag."""
    time = {"strategy": "time_lag", "lag": "1s", "allowed_lateness": "0s", "interval": interval}
    return settings_of(
        broker, topic, warehouse, time=time, window={"size": "10s"}, batch={"interval": "0ms"},
    )  # fmt: skip


@pytest.mark.parametrize("refusal", drawn([NO_PANES, NO_COMMIT], 1), ids=["write_ahead", "commit"])
def test_a_tick_after_a_failed_batch_commits_nothing_of_it(
    refusal: Refusal, broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, clock = make_topic(1, **ANY_TIMESTAMP), Clock(START)
    settings = by_the_clock(broker, topic, tmp_path)
    with open_service(settings, now=clock) as service:
        send(broker.bootstrap_servers, topic, [event("ann", START)])
        service.drain()
        send(broker.bootstrap_servers, topic, [event("bob", START + 1_000)])
        with refusing(tmp_path, [refusal]), REFUSED:
            service.drain()
        clock.move(20_000)
        for attempt in (service.tick, service.drain):
            with REFUSED:
                attempt()
    assert batches(tmp_path) == [EPOCH + 1]
    with open_service(settings, now=clock) as service:
        service.drain()
        service.tick()
    assert assert_conserved(tmp_path).counted == 2
    assert {user for user, *_ in page_views(tmp_path)} == {"ann", "bob"}


def test_what_a_failed_tick_fired_is_published_by_the_next_start(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, clock = make_topic(1, **ANY_TIMESTAMP), Clock(START)
    settings = by_the_clock(broker, topic, tmp_path)
    with open_service(settings, now=clock) as service:
        send(broker.bootstrap_servers, topic, [event("ann", START)])
        service.drain()
        clock.move(20_000)
        with refusing(tmp_path, [NO_COMMIT]), REFUSED:
            service.tick()
        send(broker.bootstrap_servers, topic, [event("bob", START + 30_000)])
        with REFUSED:
            service.drain()
    assert page_views(tmp_path) == {}
    with open_service(settings, now=clock) as service:
        service.drain()
    assert assert_conserved(tmp_path).counted == 2
    assert {user for user, *_ in page_views(tmp_path)} == {"ann"}


def test_a_loop_whose_store_refuses_again_and_again_loses_nothing(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, sent = make_topic(2), 0
    settings = by_the_clock(broker, topic, tmp_path, interval="100ms")
    for _ in range(3):
        with open_service(settings) as service, looping(service) as ended:
            sent += produce(broker, topic)
            wait_for(partial(has_read, tmp_path, sent), PATIENCE_S, "records")
            newest = latest_batch(tmp_path)[0]["batch"]
            with refusing(tmp_path, [Refusal("panes", f"batch <= {newest}")]):
                sent += produce(broker, topic)
                assert ended.wait(PATIENCE_S), "the loop goes on though its store refuses"
    with open_service(settings) as service:
        service.drain()
    assert assert_conserved(tmp_path).records == sent  # some may be too late: the clock of a slow machine goes on


@contextmanager
def looping(service: RunningService) -> Iterator[Event]:
    """Runs the service in a thread, with all its ticks, until it fails; then the event is set."""
    stopping, ended = Event(), Event()

    def run() -> None:
        try:
            service.run(stopping)
        except DeltaError:
            ended.set()

    thread = Thread(target=run)
    thread.start()
    try:
        yield ended
    finally:
        stopping.set()
        thread.join()


def produce(broker: Cluster, topic: str, users: int = 10) -> int:
    """An event of now for each user on each partition; how many that are."""
    at = Clock.real()
    events = [event(f"user-{user}", at, partition=partition) for user in range(users) for partition in (0, 1)]
    send(broker.bootstrap_servers, topic, events)
    return len(events)
