"""The page while a service runs, and after the service was killed: both as processes, in a real Chromium."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from demo.children import free_port
from tests.dashboard.eyes import PHONE, Eyes, eyes
from tests.support.chromium import chromium
from tests.support.kafka_cluster import Cluster
from tests.support.processes import Process, producers, tidemark
from tests.support.waiting import wait_for
from tests.support.warehouse import rows

DISORDER = (
    *(
        "--rate",
        "300",
        "--users",
        "200",
        "--jitter",
        "3s",
        "--late-share",
        "0.02",
        "--late-by",
        "1m",
        "--late-after",
        "5s",
    ),
    *("--future-share", "0.01", "--malformed-share", "0.01", "--silent-partition", "3", "--silent-after", "5s"),
)
RULES = (
    *("--window.size", "5s", "--time.bound", "2s", "--time.allowed-lateness", "5s", "--time.idle-timeout", "5s"),
    *("--batch.interval", "200ms"),
)
MINUTES_MS = 240_000
LOOKS = 20


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.mark.long
def test_the_page_displays_the_batches_of_the_service_and_that_it_died(
    browser: Browser, broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, port, page = make_topic(partitions=4), str(free_port()), str(free_port())
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic)
    tables = ("--warehouse", str(tmp_path / "warehouse"), "--metrics.port", port)
    with ExitStack() as stack:
        look = stack.enter_context(tidemark(tmp_path / "page.log", "dashboard", *tables, "--dashboard.port", page))
        wait_for(lambda: "dashboard_listening" in look.said, 60, "the page")
        person, phone = stack.enter_context(eyes(browser)), stack.enter_context(eyes(browser, PHONE, "dark"))
        person.page.set_default_timeout(MINUTES_MS)
        person.open(f"http://127.0.0.1:{page}")
        assert "There is no ledger in" in person.say("#now")
        service = stack.enter_context(tidemark(tmp_path / "service.log", "run", *where, *tables, *RULES))
        stack.enter_context(producers(tmp_path / "site.log", "simulate", *where, *DISORDER))
        _sees_it_live(person)
        _keeps_the_day(browser, tmp_path)
        _measured(person, tmp_path / "warehouse", service)
        service.kill()
        _sees_it_dead(person)
        phone.open(f"http://127.0.0.1:{page}")
        _sees_it_dead(phone)
        _photograph(person, "dead")
        _photograph(phone, "dead-phone")
        assert person.barriers() == phone.barriers() == person.complaints == phone.complaints == []
        look.popen.terminate()
        assert look.wait() == 0


def _sees_it_live(person: Eyes) -> None:
    """Everything appears by itself, on the page that was opened before there was a warehouse."""
    for place, words in (
        ("#now", "Live."),
        ("#traffic", "The windows as a table"),
        ("#top-user_id", "Top users"),
        ("#watermark", "Partition 3 is idle"),
        ("#changed", "fired again"),
        ("#ledger", "it balances"),
        ("#dead", "It is Avro of schema 1"),
    ):
        expect(person.page.locator(place)).to_contain_text(re.compile(re.escape(words)), timeout=MINUTES_MS)
    _photograph(person, "live")


def _keeps_the_day(browser: Browser, folder: Path) -> None:
    """The day so far, as a file that is made while the service works."""
    file = folder / "today.html"
    options = ("--warehouse", str(folder / "warehouse"), "--day", "today", "--output", str(file))
    with tidemark(folder / "report.log", "report", *options) as report:
        assert report.wait() == 0, report.said
    with eyes(browser) as person:
        person.open(file.as_uri())
        assert "The day ends in" in person.say("#now")
        assert "it balances" in person.say("#ledger")
        assert person.barriers() == person.complaints == []


def _measured(person: Eyes, warehouse: Path, service: Process) -> None:
    """How long after the commit that fires a window the page shows it as fired; printed, for machines differ."""
    person.page.click("#traffic-table summary")
    waited = list[float]()
    seen = _fired(person)
    while len(waited) < LOOKS and service.alive:
        fired = wait_for(lambda: _fired(person) - seen, MINUTES_MS / 1000, "a window that fires")
        now = time.time() * 1000
        seen.update(fired)
        committed = {row["committed_at"]: row["watermark"] or 0 for row in rows(warehouse, "ledger")}
        for end in fired:
            waited.append(now - min(at for at, watermark in committed.items() if watermark >= end))
    print(f"from the commit to the page: {sorted(round(one) for one in waited)} ms")  # noqa: T201 - it is measured
    assert len(waited) >= LOOKS


def _fired(person: Eyes) -> set[int]:
    """The ends of the windows that the page shows as fired, in milliseconds."""
    found = person.page.eval_on_selector_all(
        "#traffic-table tbody tr:has(.state:not(.open)) a", "all => all.map(one => one.getAttribute('href'))"
    )
    return {int(re.findall(r"until=(\d+)", href)[0]) for href in found}


def _sees_it_dead(person: Eyes) -> None:
    expect(person.page.locator("#now")).to_contain_text("Nothing was committed for", timeout=MINUTES_MS)
    expect(person.page.locator("#now")).to_contain_text("The service is stopped")
    for place, words in (("#traffic", "page views"), ("#watermark", "watermark"), ("#ledger", "it balances")):
        assert words in person.say(place)
    assert person.overflow() <= 0


def _photograph(person: Eyes, name: str) -> None:
    """Saves a screenshot if TIDEMARK_TEST_PICTURES names a folder."""
    if folder := os.environ.get("TIDEMARK_TEST_PICTURES"):
        person.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
