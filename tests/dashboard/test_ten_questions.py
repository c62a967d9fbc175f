"""An analyst's ten questions, each answered at most three clicks from the first page: a play at each of three widths.

`TESTS_PICTURES=<folder>` saves photographs of each answer.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from tests.dashboard.eyes import PHONE, Eyes, Scheme, eyes
from tests.dashboard.scene import Served
from tests.dashboard.visitor_scene import WEEK_BEFORE, YESTERDAY
from tests.support.chromium import chromium
from tests.support.seeds import drawn
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.pipeline.web.dashboard.shared_views import READ_AGAIN

pytestmark = pytest.mark.slow
PLAYS: Final = [pytest.param(PHONE, "light"), pytest.param(768, "dark"), pytest.param(1280, "light")]
MOST: Final = 3


@dataclass
class Analyst:
    """A person who clicks, and counts it."""

    eyes: Eyes
    clicks: int = field(default=0)

    def click(self, selector: str) -> None:
        """Clicks on an element, and loads a page that is still being read again, as there may be no script."""
        self.clicks += 1
        self.eyes.page.locator(selector).first.click()
        self.eyes.page.wait_for_load_state("load")
        content = self.eyes.page.content()
        if "This page appears when they have been read" in content or READ_AGAIN in content:
            self.eyes.open(self.eyes.page.url)

    def search(self, selector: str, text: str) -> None:
        """Types a text and presses the button next to it."""
        self.eyes.page.fill(selector, text)
        self.click(f"form:has({selector}) button")

    def sees(self, selector: str, text: str) -> None:
        """Waits for a text, which appears once the tables have been read."""
        expect(self.eyes.page.locator(selector).first).to_contain_text(re.compile(re.escape(text)))


def visitors_yesterday_and_on_the_same_day_of_last_week(person: Analyst) -> None:
    person.click("text=Yesterday")
    person.sees("h1", YESTERDAY)
    person.click("text=same weekday before")
    person.sees("[aria-label=Comparison]", WEEK_BEFORE)
    person.sees("#figures", "+100 %: 4 against 2")


def today_so_far_against_the_same_time(person: Analyst) -> None:
    person.sees("#figures", "so far, until 14:37")
    person.sees("#figures", "both until 14:37")


def top_pages_of_this_and_the_last_week(person: Analyst) -> None:
    person.click("text=7 days")
    person.sees("#list-pages", "page views")
    person.sees("#list-pages", "/shop")
    person.click("[aria-label='Earlier period']")
    person.sees("h1", "2024-04-26 to 2024-05-02")
    person.sees("#list-pages", "/shop")


def pages_that_people_leave_from(person: Analyst) -> None:
    person.click("text=7 days")
    person.sees("#list-exits", "/help")
    person.click("#list-exits a:has-text('/help')")
    person.sees(".filters", "Only the exit page /help")
    person.sees("#list-visits_by_referring_host", "news.example")


def new_and_returning_visitors(person: Analyst) -> None:
    person.click("text=Yesterday")
    person.sees("#figures", "2 new (final), 2 returning")


def how_long_and_how_many_pages(person: Analyst) -> None:
    person.click("text=Yesterday")
    person.sees("#figures", "Duration of visits")
    person.sees("#figures", "median; mean")
    person.sees("#figures", "1.5 page views a visit (mean)")


def what_a_user_did(person: Analyst) -> None:
    person.search("#find-user", "bob")
    person.sees("#now", "Users that start with bob")
    person.click(".found a")
    person.sees("#visits", "2 d without an event")
    person.sees("#visits", f"{YESTERDAY} 21:00:00")


def when_it_is_busy(person: Analyst) -> None:
    person.click("text=Yesterday")
    person.sees("h1", YESTERDAY)
    person.click("summary:has-text('The chart as a table')")
    person.sees("#chart-table", f"{YESTERDAY} 14:00")


def is_this_number_final(person: Analyst) -> None:
    person.sees("#complete", "Complete until 14:37, final until 14:36.")
    person.click("text=Yesterday")
    person.sees("#complete", "Complete")
    person.sees("#figures", "final")


def the_numbers_as_csv(person: Analyst) -> None:
    person.click("text=Yesterday")
    person.sees("h1", YESTERDAY)
    page, link = person.eyes.page, person.eyes.page.locator("#more a:has-text('CSV')")
    # Tables that take long to read are answered with "later", which is no file.
    address = urljoin(page.url, link.get_attribute("href"))
    wait_for(lambda: page.request.get(address, timeout=PATIENCE_S * 1000).ok, PATIENCE_S, "the file")
    with page.expect_download() as download:
        person.clicks += 1
        link.click()
    assert "figure" in Path(download.value.path()).read_text()


QUESTIONS: Final[tuple[Callable[[Analyst], None], ...]] = (
    visitors_yesterday_and_on_the_same_day_of_last_week,
    today_so_far_against_the_same_time,
    top_pages_of_this_and_the_last_week,
    pages_that_people_leave_from,
    new_and_returning_visitors,
    how_long_and_how_many_pages,
    what_a_user_did,
    when_it_is_busy,
    is_this_number_final,
    the_numbers_as_csv,
)


@pytest.mark.parametrize(("width", "scheme"), drawn(PLAYS, 1))
def test_ten_questions_are_answered_in_three_clicks(width: int, scheme: Scheme, visited: Served) -> None:
    with chromium() as browser, eyes(browser, width, scheme) as person:
        for question in QUESTIONS:
            ask(visited, person, question)
            assert_all_in_sight(person)
            photograph(person, f"{question.__name__}-{width}-{scheme}")
        assert person.complaints == []


def test_two_questions_are_answered_without_a_script(visited: Served) -> None:
    with chromium() as browser, eyes(browser, PHONE, script=False) as person:  # axe is a script
        for question in (what_a_user_did, is_this_number_final):
            ask(visited, person, question)


def ask(visited: Served, person: Eyes, question: Callable[[Analyst], None]) -> None:
    """Answers a question from the first page on, and asserts the number of clicks."""
    analyst = Analyst(person.open(f"{visited.address}/"))
    question(analyst)
    assert analyst.clicks <= MOST, question.__name__


def assert_all_in_sight(person: Eyes) -> None:
    """Asserts that axe finds nothing, and that nothing is cut off or out of sight."""
    assert person.barriers() == []
    assert person.overflow() <= 0
    assert person.cut_off() == []
    assert person.states("state")[1] == []


def photograph(person: Eyes, name: str) -> None:
    """Saves a picture of the page if a folder for pictures is set."""
    if folder := os.environ.get("TESTS_PICTURES"):
        person.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)
