"""Days of a zone, a report of clicks, and names from right to left, in a real Chromium on screens of three widths."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.dashboard.eyes import Eyes, Scheme, eyes
from tests.dashboard.scene import future, rejected, serving
from tests.support.chromium import chromium
from tests.verify.site import MINUTE, NOON, POLICY, Event, Site
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.instants import ms_of

pytestmark = [pytest.mark.slow, pytest.mark.long]
HOUR = 60 * MINUTE
RIGHT_TO_LEFT = "\u05e9\u05dc\u05d5\u05dd 12"
TURNING = "ab\u202ecd"
SCREENS: list[tuple[int, Scheme]] = [(1280, "light"), (768, "dark"), (390, "light")]


def event(time: str, user: str = "ann", *, click: bool = False) -> Event:
    """An event at a time in UTC."""
    return Event((ms_of(datetime.fromisoformat(f"{time}+00:00")) - NOON) / MINUTE, user, click=click)


def berlin(folder: Path) -> None:
    """Days of Berlin over the change of October 25th, in which each hour has an event, and a session over midnight.

    00:00 CEST           02:00 CEST  02:00 CET                     24:00 CET
    |--- 2026-10-25 ---------|----------|---------------------------|
    22:00 UTC                0:00       1:00                        23:00
    """
    days = Report("days", Calendar(24 * HOUR, "Europe/Berlin"), HOUR, keys=())
    sessions = Report("sessions", Sessions(30 * MINUTE), HOUR)
    site = Site(folder, replace(POLICY, strategy=Bounded(MINUTE), reports=(days, sessions), totals=None)).open()
    for day in range(22, 28):
        site.batch(*(event(f"2026-10-{day}T{hour:02}:30") for hour in range(24)))
    site.batch(event("2026-10-27T22:50", "bob"), event("2026-10-27T23:10", "bob"))


def clicks(folder: Path) -> None:
    """A report that counts clicks only."""
    report = Report("clicks", Grid(10 * MINUTE, 10 * MINUTE), 0, keys=(), where="event_type = 'click'")
    site = Site(folder, replace(POLICY, reports=(report,), totals=None)).open()
    site.batch(*(Event(minute, click=True) for minute in range(1, 40)))


def names(folder: Path) -> None:
    """Users whose names are from right to left, or contain the mark that turns the direction of what follows."""
    site = Site(folder, replace(POLICY, reports=POLICY.reports[:1], totals=None)).open()
    site.batch(Event(1, RIGHT_TO_LEFT), Event(2, RIGHT_TO_LEFT), Event(3, TURNING))
    rejected(site, future(site, RIGHT_TO_LEFT), future(site, TURNING))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The pages of each warehouse."""
    with ExitStack() as stack:
        found = dict[str, str]()
        for make in (berlin, clicks, names):
            folder = tmp_path_factory.mktemp(make.__name__)
            make(folder)
            found[make.__name__] = stack.enter_context(serving(folder)).address
        yield found


@pytest.fixture(params=SCREENS, ids=str)
def person(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Eyes]:
    """A person at a screen, who finds no barrier and nothing off the screen at the end."""
    width, scheme = request.param
    with eyes(browser, width, scheme) as found:
        yield found
        assert found.barriers() == found.complaints == []
        assert found.overflow() <= 0
        if folder := os.environ.get("TIDEMARK_TEST_PICTURES"):
            name = f"{request.node.originalname}-{width}-{scheme}.png"
            found.page.screenshot(path=Path(folder) / name, full_page=True)


def test_days_and_sessions_have_their_local_dates_over_a_change_of_summer_time(
    person: Eyes, addresses: dict[str, str]
) -> None:
    person.open(f"{addresses['berlin']}/pipeline").page.click("#traffic-table summary")
    bars = person.page.eval_on_selector_all("#traffic rect.bar title", "all => all.map(one => one.textContent)")
    assert "2026-10-25 closed: 25" in bars
    assert [bar.split()[0] for bar in bars] == [f"2026-10-{day}" for day in range(22, 29)]
    assert "2026-10-25 closed 25 0 0" in person.say("#traffic-table")
    assert "days in the time zone Europe/Berlin" in person.say("#traffic")
    assert "Times are in Europe/Berlin." in person.say("footer")
    for picture in ("#traffic", "#watermark"):
        assert "2026-10-2" in " ".join(person.page.locator(f"{picture} .tick").all_text_contents())
        assert overlapping(person, f"{picture} .tick:not(.box)") == []
    person.open(f"{addresses['berlin']}/reports/sessions?user_id=bob")
    assert "[2026-10-27 23:50:00, 2026-10-28 00:40:00)" in person.say("#rows")


def test_a_report_of_clicks_has_bars(person: Eyes, addresses: dict[str, str]) -> None:
    person.open(f"{addresses['clicks']}/reports/clicks")
    assert "clicks in 4 windows" in person.say("#windows")
    assert max(person.page.eval_on_selector_all("rect.bar", "all => all.map(one => one.height.baseVal.value)")) == 120
    person.page.click("#windows nav >> text=page views")
    assert "page views in 4 windows" in person.say("#windows")
    assert person.page.locator("#windows [aria-current]").inner_text() == "page views"


def test_names_from_right_to_left_do_not_turn_their_surroundings(person: Eyes, addresses: dict[str, str]) -> None:
    person.open(f"{addresses['names']}/users?id={quote(RIGHT_TO_LEFT)}")
    assert edges(person, "h1", "User")[1] <= edges(person, "h1", RIGHT_TO_LEFT)[0]
    person.open(f"{addresses['names']}/reports/page_views?user_id={quote(TURNING)}")
    assert person.page.input_value("#by-user_id") == TURNING  # what is sent again is what was asked
    assert "user id ab\\u202ecd" in person.say("#now")
    person.open(f"{addresses['names']}/pipeline")
    for user in (RIGHT_TO_LEFT, TURNING.replace("\u202e", "\\u202e")):
        assert edges(person, "#dead td.long", user)[1] <= edges(person, "#dead td.long", " is ahead", user)[0] + 1
        count = person.page.locator("#top-user_id tr").filter(has_text=user).locator("td")
        assert edges(person, "#top-user_id th", user)[1] <= count.evaluate("one => one.getBoundingClientRect().right")


def edges(person: Eyes, selector: str, text: str, same_as: str = "") -> tuple[float, float]:
    """Returns the left and right edge of a text, in pixels; in the first element that also has the text `same_as`."""
    element = person.page.locator(selector).filter(has_text=text).filter(has_text=same_as).first
    left, right = element.evaluate(_EDGES, text)
    return left, right


_EDGES = """(element, text) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.textContent.indexOf(text);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + text.length);
    const [box] = range.getClientRects();
    return [box.left, box.right];
  }
  throw new Error(`no ${text} in ${element.textContent}`);
}"""


def overlapping(person: Eyes, selector: str) -> list[list[str]]:
    """Returns the pairs of texts that cover one another."""
    found: list[list[str]] = person.page.eval_on_selector_all(
        selector,
        """all => all.flatMap((one, index) => all.slice(index + 1).filter((other) => {
          const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
          return a.left < b.right && b.left < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom;
        }).map((other) => [one.textContent, other.textContent]))""",
    )
    return found
