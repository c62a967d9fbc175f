"""From a visit in a browser to its row on the dashboard, through the containers of docker-compose.yml as processes."""

import json
import time
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.eyes import PHONE, Eyes, eyes
from tests.deploy.containers import HOST, Here
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.chromium import chromium
from tests.support.processes import Process
from tests.support.site import site
from tests.support.waiting import wait_for
from tests.support.warehouse import milliseconds, rows

PATIENCE_S: Final = 180
COLLECTOR, DASHBOARD = "8480", "9478"
SHORT = {"TIDEMARK_SPARK__CONF": json.dumps(BRIEF_DRIVER), "TIDEMARK_WINDOW__SIZE": "2s"}
"""A test does not wait for a minute to fire."""
VISITS = 5


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.long
def test_who_visits_is_on_the_dashboard(tmp_path: Path) -> None:
    here = Here(tmp_path)
    warehouse = Path(here.variables("tidemark")["TIDEMARK_WAREHOUSE"])
    warehouse.parent.mkdir()
    with here.kafka(), chromium() as browser:
        here.make_topic()
        with (
            here.container("tidemark", **SHORT) as service,
            here.container("producer"),
            here.container("collect") as collector,
            here.container("dashboard", "--dashboard.port", str(here.port(DASHBOARD))) as dashboard,
            site(f"http://{HOST}:{here.port(COLLECTOR)}") as origin,
            eyes(browser) as desk,
            eyes(browser, PHONE) as phone,
        ):
            wait_for(lambda: "collecting for" in collector.said, PATIENCE_S, "the collector")
            wait_for(lambda: "dashboard_listening" in dashboard.said, PATIENCE_S, "the dashboard")
            look(here, desk)
            expect(desk.page.locator("#traffic-table")).to_contain_text("fired", timeout=PATIENCE_S * 1000)
            waited = [seen_after(browser, origin, here, desk.page, warehouse) for _ in range(VISITS)]
            # It is measured, and machines differ.
            print(f"from the commit that fires a window to its row on the page: {sorted(waited)} ms")  # noqa: T201
            service.kill()
            tells_what_is_going_on(here, phone, dashboard)


def look(here: Here, person: Eyes) -> None:
    """Opens the first page, by the token of the file."""
    person.open(f"http://{HOST}:{here.port(DASHBOARD)}")
    person.page.fill("#token", here.variables("dashboard")["TIDEMARK_DASHBOARD__TOKEN"])
    person.page.get_by_role("button", name="Log in").click()
    person.page.wait_for_selector("#now")


def seen_after(browser: Browser, origin: str, here: Here, watched: Page, warehouse: Path) -> int:
    """Sends a visit; returns the milliseconds from the commit that fires the window until the user's page has it."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{origin}/shoes")
    user = page.evaluate("localStorage.tidemark").split()[0]
    watched.goto(f"http://{HOST}:{here.port(DASHBOARD)}/users?id={user}")
    fired = watched.locator("#of-page_views tr", has=watched.locator(".state:not(.open)"))
    expect(fired.first).to_be_visible(timeout=PATIENCE_S * 1000)
    seen = time.time() * 1000
    context.close()
    (row,) = [row for row in rows(warehouse, "page_views") if row["user_id"] == user]
    assert row["page_views"] == 1
    end = milliseconds(row["window_end"])
    committed: int = min(one["committed_at"] for one in rows(warehouse, "ledger") if (one["watermark"] or 0) >= end)
    return round(seen - committed)


def tells_what_is_going_on(here: Here, phone: Eyes, dashboard: Process) -> None:
    """The second look: on a phone, with the service killed."""
    look(here, phone)
    now = phone.page.locator("#now")
    expect(now).to_contain_text("Nothing was committed for", timeout=PATIENCE_S * 1000)
    expect(now).to_contain_text("The service is stopped")
    assert phone.overflow() <= 0
    assert dashboard.alive
