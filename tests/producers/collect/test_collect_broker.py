"""A collector and a real broker: acknowledged events are in Kafka, even if the broker was down for a while."""

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from confluent_kafka import Producer

from demo.broker import Broker
from tests.producers.collect.collect_client import AGENT, Asker, collecting, event, request_body
from tests.producers.recount import decode
from tests.support.brief_java import BRIEF_JVM
from tests.support.frozen import frozen
from tests.support.kafka_cluster import Cluster
from tests.support.topic_reader import consumed
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.producers.broker import Target
from tidemark.producers.collect.sink import KafkaSink
from tidemark.producers.partition import partition_of

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
TIMEOUT_S = 3
BROWSERS = 4
TOPIC = "clicks"
LIMITS = ("--allow-origin", "*", "--rate", "0")
TIMEOUT = ("--timeout", f"{TIMEOUT_S}s")


def test_what_is_acknowledged_is_on_the_topic_and_on_the_partition_of_its_user(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, users = make_topic(partitions=4), [f"user-{number}" for number in range(20)]
    with collecting(broker.bootstrap_servers, topic, tmp_path / "log", *LIMITS, "--timeout", "10m") as (process, ask):
        assert ask("GET", "/readyz").status == 200
        sent = [event(user_id=user, event_id=user) for user in users]
        assert ask.post(request_body(*sent[:10]), user_agent="Firefox").status == 204
        partly = ask.post(request_body(event(user_id=""), *sent[10:]))
        assert (partly.status, partly.json["accepted"]) == (200, 10)
        assert [one["reason"] for one in partly.json["rejected"]] == ["string_too_short"]
        assert ask.metric('tidemark_collect_events_total{type="visit"}') == 20
        assert ask.metric('tidemark_collect_requests_total{outcome="accepted"}') == 2
        process.send(signal.SIGTERM)
        assert process.wait() == 0, process.said
    found = {(message.key() or b"").decode(): message for message in consumed(broker.bootstrap_servers, topic)}
    assert sorted(found) == sorted(users)
    for user, message in found.items():
        assert (decode(message.value()) or {})["user_id"] == user
        assert message.partition() == partition_of(user.encode(), 4)
    assert "Traceback" not in process.said


def test_a_client_that_has_lost_a_broker_that_others_reach_ends(broker: Cluster, make_topic: MakeTopic) -> None:
    topic, ends = make_topic(), list[str]()

    async def watched() -> None:
        lost = KafkaSink(Target(broker.bootstrap_servers, topic, timeout_ms=300), 10)
        lost.on_end = lambda: ends.append(lost.ended)
        for _ in range(4):
            await lost.look()
        assert lost.ended == ""
        lost._producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
        await asyncio.wait_for(lost.watch(), PATIENCE_S)

    asyncio.run(watched())
    assert ends == ["it has lost the broker, which a new client reaches"]


def test_a_broker_that_no_client_reaches_ends_no_client() -> None:
    async def looked() -> str:
        sink = KafkaSink(Target("127.0.0.1:1", "t", timeout_ms=1), 10)
        for _ in range(3):
            await sink.look()
        return sink.ended

    assert asyncio.run(looked()) == ""


def test_each_request_of_a_person_counts_and_a_bad_value_costs_only_its_event(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, site = make_topic(), ("--allow-origin", "https://München.example:443/")
    agent = "Näver/1".encode().decode("latin-1")  # as http.client writes it
    with collecting(broker.bootstrap_servers, topic, tmp_path / "log", *site) as (process, ask):
        deep = json.loads("[" * 300 + "]" * 300)
        bad = [event(page_url="\ud83d"), event(other=deep), event(other="digits"), event(page_url="octet")]
        body = request_body(event(event_id="first"), *bad, event(event_id="last"))
        body = body.replace(b'"digits"', b"9" * 4_300).replace(b"octet", b"\xff")
        answer = ask.post(body, origin="https://xn--mnchen-3ya.example", user_agent=agent)
        assert (answer.status, answer.json["accepted"]) == (200, 2)
        reasons = [one["reason"] for one in answer.json["rejected"]]
        assert reasons == ["string_unicode", "extra_forbidden", "extra_forbidden", "string_unicode"]
        page = "https://shop.example/;jsessionid=1F2E"
        long = event(event_id="long", referrer=page + "/" + "a" * 3_000, page_url=page, element_id="e" * 200)
        assert ask.post(request_body(long)).status == 204
        robot = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/120.0.0.0 Safari/537.36"
        assert ask.post(request_body(event()), user_agent=robot).status == 403
        for _ in range(2):
            assert ask.post(request_body(event()), origin="https://other.example").status == 403
        assert process.said.count("producers: pages of https://other.example are refused") == 1
    events = [decode(message.value()) or {} for message in consumed(broker.bootstrap_servers, topic)]
    assert sorted(one["event_id"] for one in events) == ["first", "last", "long"]
    assert {one["user_agent"] for one in events} == {"Näver/1", AGENT}
    assert not any("1F2E" in f"{one['page_url']}{one['referrer']}" for one in events)


@dataclass
class Site:
    """Browsers that send one event after another and record the response to each."""

    ask: Asker
    acknowledged: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    others: list[int] = field(default_factory=list)

    def browse(self, browser: int, closed: Event) -> None:
        for number in count():
            if closed.is_set():
                return
            name = f"{browser}-{number}"
            status = self.ask.post(request_body(event(event_id=name))).status
            if status == 204:
                self.acknowledged.append(name)
            elif status == 503:
                self.refused.append(name)
            else:
                self.others.append(status)


def test_while_kafka_is_away_nothing_is_acknowledged_and_what_was_is_there(tmp_path: Path) -> None:
    closed = Event()
    with Broker(tmp_path / "broker", heap="256m", options=[BRIEF_JVM]) as broker:
        broker.create_topic(TOPIC, 2)
        where = broker.bootstrap_servers, TOPIC
        with (
            collecting(*where, tmp_path / "log", *LIMITS, *TIMEOUT) as (process, ask),
            ThreadPoolExecutor() as pool,
        ):
            site = Site(ask)
            browsers = [pool.submit(site.browse, number, closed) for number in range(BROWSERS)]
            try:
                wait_for(lambda: len(site.acknowledged) > 100, PATIENCE_S, "a hundred events")
                with frozen(broker):
                    wait_for(lambda: len(site.refused) > 2 * BROWSERS, PATIENCE_S, "answers in the outage")
                    assert ask("GET", "/readyz").status == 503
                    assert ask("GET", "/healthz").status == 200
                before = len(site.acknowledged)
                wait_for(lambda: len(site.acknowledged) > before + 100, PATIENCE_S, "a hundred events after it")
            finally:
                closed.set()
            for browser in browsers:
                browser.result()
        found = Counter((decode(message.value()) or {})["event_id"] for message in consumed(*where))
    assert not site.others
    assert {*site.acknowledged} <= found.keys()
    assert {name for name, times in found.items() if times > 1} == set()
    assert "Traceback" not in process.said
