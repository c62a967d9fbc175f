"""A site with the snippet in a real Chromium: the acts of its user reach a real collector and Kafka.

`tests/deploy/test_site_to_page.py` tests that they are counted and displayed.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from demo.children import free_port
from tests.producers.collect.collect_client import Asker, collecting
from tests.producers.recount import decode
from tests.support.chromium import chromium, window
from tests.support.kafka_cluster import Cluster
from tests.support.site import site
from tests.support.topic_reader import consumed
from tests.support.waiting import PATIENCE_S, wait_for

pytestmark = [pytest.mark.broker, pytest.mark.long]

TOPIC: Final = "browsers"
HALF_AN_HOUR_MS: Final = 1_800_000
OFFLINE_MS: Final = 300_000
"""Less than the age from which the collector rejects events."""


@dataclass(frozen=True)
class Stage:
    """A site on an origin of its own, and a collector that takes from it alone."""

    site: str
    collector: Asker
    broker: Cluster
    browser: Browser

    @contextmanager
    def user(self, script: str = "", path: str = "/", **wishes: Any) -> Iterator["User"]:
        """Someone who opens a page of the site; before its own scripts runs `script`."""
        with window(self.browser, **wishes) as context:
            context.add_init_script(script)
            user = User(self, context, context.new_page())
            user.page.on("request", lambda request: user.asked.append(request.url))
            user.page.on("pageerror", lambda error: user.errors.append(str(error)))
            user.page.goto(self.site + path)
            yield user
        assert not user.errors


@dataclass
class User:
    """A user with a browser, which has an id once it has sent an event."""

    stage: Stage
    context: BrowserContext
    page: Page
    asked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def kept(self) -> list[str]:
        """User, session and the time of the last event, as the browser keeps them."""
        text: str = self.page.evaluate("localStorage.tidemark || ''")
        return text.split()

    def is_silent_for(self, milliseconds: int) -> None:
        """Stops the browser's clock at this time after its last event."""
        self.page.evaluate("now => { Date.now = () => now }", int(self.kept[2]) + milliseconds)

    def events_in_kafka(self, count: int) -> list[dict[str, Any]]:
        """Waits until Kafka has this many events of the user, and returns them."""
        name = self.kept[0]

        def found() -> list[dict[str, Any]]:
            events = [decode(one.value()) for one in consumed(self.stage.broker.bootstrap_servers, TOPIC)]
            return [event for event in events if event and event["user_id"] == name]

        wait_for(lambda: len(found()) >= count, PATIENCE_S, f"{count} events")
        events = found()
        assert len(events) == count
        return events


def click_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the only click among events, which may arrive in any order."""
    (found,) = [event for event in events if event["event_type"] == "click"]
    return found


@pytest.fixture(scope="module")
def stage(broker: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One of everything for all tests; each has a user of its own."""
    broker.create_topic(TOPIC, 1)
    log = tmp_path_factory.mktemp("collector") / "log"
    port = free_port()
    with (
        chromium() as browser,
        site(f"http://127.0.0.1:{port}") as origin,
        collecting(broker.bootstrap_servers, TOPIC, log, "--allow-origin", origin, port=port) as (_, ask),
    ):
        yield Stage(origin, ask, broker, browser)


def test_a_visit_has_its_page_and_its_referrer_without_query_and_fragment(stage: Stage) -> None:
    with stage.user(path="/reset?token=secret#top") as user:
        user.page.click("#more")
        user.page.wait_for_url("**/more")
        events = user.events_in_kafka(3)
    reset, more = f"{stage.site}/reset", f"{stage.site}/more"
    assert {(event["event_type"], event["page_url"]): event["referrer"] for event in events} == {
        ("visit", reset): None,
        ("click", reset): None,
        ("visit", more): reset,
    }
    assert click_of(events)["element_id"] == "more"
    assert len({event["session_id"] for event in events}) == 1
    assert len({event["event_id"] for event in events}) == 3
    assert all("Chrome" in event["user_agent"] for event in events)


def test_only_links_buttons_and_named_elements_count_as_clicks_even_if_a_handler_stops_them(stage: Stage) -> None:
    with stage.user() as user:
        user.page.click("p")
        user.page.click("b")
        events = user.events_in_kafka(2)
    assert click_of(events)["element_id"] == "buy"


def test_the_page_sends_events_of_its_own_kinds_with_properties(stage: Stage) -> None:
    with stage.user() as user:
        user.page.evaluate("tidemark('purchase', {price: 12.5, gift: false}, 'checkout')")
        user.page.evaluate("tidemark('login')")
        events = user.events_in_kafka(3)
    found = {event.get("event_name"): event for event in events}
    assert found.keys() == {None, "purchase", "login"}
    assert found["purchase"]["properties"] == {"price": "12.5", "gift": "false"}
    assert (found["purchase"]["element_id"], found["login"]["element_id"]) == ("checkout", None)
    assert len({event["session_id"] for event in events}) == 1


def test_pages_of_an_application_that_never_leaves_the_first_one_are_visits(stage: Stage) -> None:
    with stage.user() as user:
        user.page.evaluate("history.pushState({}, '', '/cart')")
        user.page.evaluate("history.pushState({}, '', '/cart?step=2')")
        user.page.evaluate("history.replaceState({}, '', '/pay')")
        user.page.evaluate("history.go(-2)")
        events = user.events_in_kafka(3)
    first, cart = f"{stage.site}/", f"{stage.site}/cart"
    assert {(event["page_url"], event["referrer"]) for event in events} == {(first, None), (cart, first), (first, cart)}


def test_a_user_stays_and_a_session_ends_after_half_an_hour_of_silence(stage: Stage) -> None:
    with stage.user() as user:
        user.is_silent_for(HALF_AN_HOUR_MS - 1)
        user.page.click("b")
        one = {event["session_id"] for event in user.events_in_kafka(2)}
        user.is_silent_for(HALF_AN_HOUR_MS)
        user.page.click("b")
        both = {event["session_id"] for event in user.events_in_kafka(3)}
    assert (len(one), len(both)) == (1, 2)


def test_an_offline_browser_sends_its_events_later_with_their_own_times(stage: Stage) -> None:
    """The minutes pass for the browser only, so its click was that long before the collector's time of arrival."""
    with stage.user() as user:
        user.context.set_offline(True)
        user.page.click("b")
        began_ms = int(time.time() * 1000)
        user.is_silent_for(OFFLINE_MS)
        user.context.set_offline(False)
        events = user.events_in_kafka(2)
    assert began_ms <= click_of(events)["event_time"] + OFFLINE_MS <= time.time() * 1000


@pytest.mark.parametrize(
    "wish",
    [
        {"script": "Object.defineProperty(navigator, 'globalPrivacyControl', {value: true})"},
        {"script": "Object.defineProperty(navigator, 'doNotTrack', {value: '1'})"},
        {"script": "Object.defineProperty(window, 'localStorage', {get() { throw new Error('none') }})"},
    ],
    ids=["global privacy control", "do not track", "no storage"],
)
def test_a_browser_that_asks_not_to_be_tracked_sends_nothing(stage: Stage, wish: dict[str, str]) -> None:
    with stage.user(**wish) as user:
        user.page.click("b")
        user.page.evaluate("tidemark('purchase', {price: 1})")
        user.page.click("#more")
        user.page.wait_for_url("**/more")
        assert not [url for url in user.asked if url.endswith("/events")]
        assert [url for url in user.asked if url.endswith("/tidemark.js")]


def test_json_is_taken_from_another_origin_too(stage: Stage) -> None:
    with stage.user() as user:
        name = user.kept[0]
        event = {"event_id": "own", "event_type": "click", "user_id": name, "event_time": 1, "page_url": "/"}
        body = json.dumps({"sent_at": 1, "events": [event]})
        beacon = "([to, body]) => navigator.sendBeacon(to, new Blob([body], {type: 'application/json'}))"
        assert user.page.evaluate(beacon, [f"{stage.collector.address}/events", body])
        assert "own" in {event["event_id"] for event in user.events_in_kafka(2)}
