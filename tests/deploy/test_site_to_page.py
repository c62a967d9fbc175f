"""From a browser on a site to the dashboard, and the demo of `docs/start.md`, by compose's containers.

One play, with the containers as processes: the dashboard is opened before there is a warehouse, displays everything
while the service runs, every visit and click of a user, and that the service has stopped. Before that, the commands of
the page are run, through an outage of the broker. `TIDEMARK_TEST_PICTURES=<folder>` saves photographs of the dashboard.
"""

import json
import os
import re
import time
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.eyes import PHONE, Eyes, eyes
from tests.deploy.containers import HOST, Here
from tests.deploy.first_hour_play import queries_while_it_runs, stop, survives_an_outage
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.chromium import chromium, window
from tests.support.seeds import in_turn
from tests.support.site import site
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import milliseconds, rows

pytestmark = pytest.mark.broker

COLLECTOR, DASHBOARD = "8480", "9478"
SHORT: Final = {
    "TIDEMARK_SPARK__CONF": json.dumps(BRIEF_DRIVER),
    "TIDEMARK_WINDOW__SIZE": "2s",
    "TIDEMARK_TIME__BOUND": "2s",
    "TIDEMARK_TIME__ALLOWED_LATENESS": "10m",
    "TIDEMARK_TIME__IDLE_TIMEOUT": "5s",
    "TIDEMARK_BATCH__INTERVAL": "3s",
}
"""A test does not wait for a minute to fire. On a slow machine no visit is too late."""
PRODUCER: Final = ("--timeout=30s", "--late-by=1m", "--late-after=5s", "--silent-partition=3", "--silent-after=5s")
"""In addition to the late, future and malformed events of the file; it gives up soon in an outage."""
LIVE: Final = {
    "#now": "Live.",
    "#traffic": "The windows as a table",
    "#traffic-table": "fired",
    "#top-user_id": "Top users",
    "#watermark": "Partition 3 is idle",
    "#changed": "fired again",
    "#ledger": "it balances",
    "#dead": "It is Avro of schema 1",
}
"""Texts of the page, which appear by themselves."""
DEAD: Final = {"#traffic": "page views", "#watermark": "watermark", "#ledger": "it balances"}
"""Texts that stay when the service has stopped."""
VISITS = 1


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.long
@in_turn(2, 4)
def test_who_visits_is_on_the_dashboard_and_the_commands_of_the_first_hour_work(tmp_path: Path) -> None:
    here = Here(tmp_path)
    warehouse = Path(here.variables("tidemark")["TIDEMARK_WAREHOUSE"])
    warehouse.parent.mkdir()
    with here.kafka() as kafka, chromium() as browser:
        here.make_topic()
        with (
            here.container("collect") as collector,
            here.container("dashboard", "--dashboard.port", str(here.port(DASHBOARD))) as dashboard,
            site(f"http://{HOST}:{here.port(COLLECTOR)}") as origin,
            eyes(browser) as desk,
            eyes(browser, PHONE, "dark") as phone,
        ):
            wait_for(lambda: "collecting for" in collector.said, PATIENCE_S, "the collector")
            wait_for(lambda: "dashboard_listening" in dashboard.said, PATIENCE_S, "the dashboard")
            look(here, desk)
            assert "There is no ledger in" in desk.say("#now")
            with here.container("tidemark", **SHORT) as service, here.container("producer", *PRODUCER) as producer:
                sees_it_live(desk)
                keeps_the_day(browser, here)
                waited = [seen_after(browser, origin, here, desk.page, warehouse) for _ in range(VISITS)]
                # It is measured, and machines differ.
                print(f"from the commit that fires a window to its row on the page: {sorted(waited)} ms")  # noqa: T201
                desk.open(f"http://{HOST}:{here.port(DASHBOARD)}/pipeline")
                expect(desk.page.locator("#now")).to_contain_text("Live.")
                rest = {"collect": collector, "dashboard": dashboard}
                queries_while_it_runs(here, kafka=kafka, tidemark=service, producer=producer, **rest)
                survives_an_outage(here, kafka, service, producer, warehouse)
                sees_it_dead(desk, "dead")
            look(here, phone)
            sees_it_dead(phone, "dead-phone")
            stop(dashboard)


def look(here: Here, person: Eyes) -> None:
    """Logs in by the token of the file, and opens the page for people who run the service."""
    person.open(f"http://{HOST}:{here.port(DASHBOARD)}")
    person.page.fill("#token", here.variables("dashboard")["TIDEMARK_DASHBOARD__TOKEN"])
    person.page.get_by_role("button", name="Log in").click()
    person.page.wait_for_selector("#now")
    person.open(f"http://{HOST}:{here.port(DASHBOARD)}/pipeline")


def sees_it_live(person: Eyes) -> None:
    """Returns when everything has appeared on the page that was opened before there was a warehouse."""
    for selector, text in LIVE.items():
        expect(person.page.locator(selector)).to_contain_text(re.compile(re.escape(text)))
    photograph(person, "live")


def keeps_the_day(browser: Browser, here: Here) -> None:
    """Makes a file of the day so far while the service works, and opens it."""
    file = here.folder / "today.html"
    done = here.run("tidemark", "tidemark", "report", "--day", "today", "--output", str(file))
    assert done.returncode == 0, done.stderr
    with eyes(browser) as person:
        person.open(file.as_uri())
        assert "The day ends in" in person.say("#now")
        assert "it balances" in person.say("#ledger")
        assert person.barriers() == person.complaints == []


def seen_after(browser: Browser, origin: str, here: Here, watched: Page, warehouse: Path) -> int:
    """Sends a visit and a click; returns the milliseconds from the commit that fires a window until its page has it."""
    with window(browser) as context:
        page = context.new_page()
        page.goto(f"{origin}/shoes")
        page.click("text=Buy")
        user = page.evaluate("localStorage.tidemark").split()[0]
        watched.goto(f"http://{HOST}:{here.port(DASHBOARD)}/users?id={user}")
        fired = watched.locator("#of-page_views tr", has=watched.locator(".state:not(.open)"))
        expect(fired.first).to_be_visible()
        seen = time.time() * 1000
    wait_for(lambda: counted(warehouse, user) == (1, 1), PATIENCE_S, "a row with both")
    end = min(milliseconds(row["window_end"]) for row in rows(warehouse, "page_views") if row["user_id"] == user)
    committed: int = min(one["committed_at"] for one in rows(warehouse, "ledger") if (one["watermark"] or 0) >= end)
    return round(seen - committed)


def counted(warehouse: Path, user: str) -> tuple[int, int]:
    """Returns the published page views and clicks of a user, whose events may be in two windows."""
    found = [row for row in rows(warehouse, "page_views") if row["user_id"] == user]
    return sum(row["page_views"] for row in found), sum(row["clicks"] for row in found)


def sees_it_dead(person: Eyes, name: str) -> None:
    """Returns when the page reports that the service has stopped; its data stay."""
    now = person.page.locator("#now")
    expect(now).to_contain_text("Nothing was committed for")
    expect(now).to_contain_text("The service is stopped")
    for selector, text in DEAD.items():
        assert text in person.say(selector)
    assert person.overflow() <= 0
    photograph(person, name)
    assert person.barriers() == []
    assert [said for said in person.complaints if "401" not in said] == []


def photograph(person: Eyes, name: str) -> None:
    """Saves a screenshot if TIDEMARK_TEST_PICTURES names a folder."""
    if folder := os.environ.get("TIDEMARK_TEST_PICTURES"):
        person.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
