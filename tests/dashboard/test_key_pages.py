"""The pages of a user and of a page of the site, and the search for them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.dashboard.scene import Served, serving, text_of
from tests.dashboard.visitor_scene import DAY, TODAY, YESTERDAY, visitors
from tests.support.parsed_settings import parsed_settings
from tests.verify.site import MINUTE, PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.opening import Opening

pytestmark = pytest.mark.slow
OPERATORS_WORDS = re.compile(r"\b(watermark|fired|ledger|epoch|batch)\b", re.IGNORECASE)


def section(served: Served, path: str, identity: str) -> str:
    """Returns the words of a section of a page."""
    found = re.search(rf'<section id="{identity}".*?</section>', served.get(path).text, re.DOTALL)
    assert found, (path, identity)
    return text_of(found.group())


def test_visits_of_a_user_are_newest_first_with_the_time_between_them(visited: Served) -> None:
    said = section(visited, "/users?id=ann", "visits")
    newest = f"{TODAY} 14:20:00 to 14:38:00 (18 min) still going /shop &#8594; /shop ; 2 page views, 0 clicks"
    assert f"{newest} 4.3 h without an event {TODAY} 10:00:00 to 10:02:00 (2 min) final" in said
    assert f"20 h without an event {YESTERDAY} 14:00:00 to 14:02:00" in said
    assert "; referring host: search.example" in said
    assert said.index(YESTERDAY) < said.index("2024-05-01")
    assert "Times are in Europe/Berlin." in said


def test_the_next_visit_that_exists_is_on_the_page_however_long_ago(visited: Served) -> None:
    said = section(visited, "/users?id=guest-0", "visits")
    assert "2024-05-01 14:05:00 final /help ; 1 page view, 0 clicks" in said
    assert "2024-05-03" in section(visited, "/users?id=bob&until=1715000000000", "visits")
    assert "2024-05-09" not in section(visited, "/users?id=bob&until=1715000000000", "visits")


def test_a_user_with_many_visits_has_pages_of_them(tmp_path: Path) -> None:
    site = visitors(tmp_path)
    start = 9 * DAY + 100
    site.batch(*(Event(start + 40 * number, "fan", "/") for number in range(60)))
    with serving(tmp_path) as served:
        html = served.get("/users?id=fan").text
        (link,) = re.findall('href="([^"]*)">Earlier visits', html)
        earlier = served.get(link.replace("&amp;", "&")).text
    starts = [re.findall("visit-time", page) for page in (html, earlier)]
    assert [len(found) for found in starts] == [50, 10]
    assert "Earlier visits" not in earlier
    assert "The newest visits" in earlier


def test_days_of_a_page_have_views_visitors_entries_and_exits(visited: Served) -> None:
    said = section(visited, "/pages?url=/shop", "days")
    assert said.startswith("Days Today so far is on the first page.")
    assert TODAY not in said  # the day is not over
    assert f"{YESTERDAY} final 2 1 2 1 1 2024-05-08 final 1 1 1 0 0" in said
    assert "No day on which this page had an event is over." in section(visited, "/pages?url=/nothing", "days")


def test_users_and_pages_are_found_by_the_start_of_their_names(visited: Served) -> None:
    said = section(visited, "/users?prefix=guest-1", "now")
    assert "Users that start with guest-1 guest-1" in said
    assert "No user starts with this text" in section(visited, "/users?prefix=x%25", "now")
    assert "/shop" in section(visited, "/pages?prefix=/s", "now")
    assert 'href="/users?id=guest-1"' in visited.get("/users?prefix=guest").text
    assert "Search users" in visited.get("/users").text


@pytest.mark.parametrize(
    "path", ["/users?id=bob", "/users?id=ann&until=1714900000000", "/pages?url=/a", "/users?prefix=b"]
)
def test_readers_are_spared_the_words_of_operators(served: Served, visited: Served, path: str) -> None:
    for page in (served, visited):
        html = page.get(path).text
        words = text_of(html[html.index("<header") : html.index("</main>")])
        assert OPERATORS_WORDS.findall(words) == []


def test_all_times_of_a_page_are_in_one_zone(tmp_path: Path) -> None:
    """The reports have windows in UTC, and in Berlin; the visits are named in the zone of the site."""
    settings = Settings(site={"zone": "Asia/Tokyo"}, totals={})  # type: ignore[arg-type]
    policy = settings.policy()
    days = Report("days_in_berlin", Calendar(DAY * MINUTE, "Europe/Berlin"), MINUTE)
    site = Site(tmp_path, replace(policy, reports=(days, *policy.reports), strategy=Bounded(MINUTE))).open()
    site.batch(Event(0), Event(3 * DAY))
    with serving(tmp_path) as served:
        html = served.get("/users?id=ann").text
    said = text_of(html)
    assert "2024-05-01 21:00:00 final" in said  # noon of UTC in Tokyo
    assert "2024-05-01 07:00, 2024-05-02 07:00" in said  # a day in Berlin
    assert set(re.findall("Times are in ([A-Za-z/_]+)", said)) == {"Asia/Tokyo"}


def test_rejected_events_of_a_user_are_linked(served: Served) -> None:
    html = served.get("/users?id=dan").text
    assert "Rejected events" in html
    assert re.search(r'href="/dead-letters/\d+/\d+/\d+"', html)


def test_what_began_before_all_of_it_was_counted_is_partial(visited: Served) -> None:
    said = section(visited, "/pages?url=/", "days")
    assert "2024-05-02 final" in said
    assert "2024-05-01 partial" in said
    reason = "Partial: what happened before 2024-05-01 14:00:00 was not counted, or was removed by age."
    assert reason in said
    rows = section(visited, "/pages?url=/", "of-site_pages_by_day")
    assert "2024-05-01 partial" in rows
    assert reason in rows
    assert "Times are in Europe/Berlin" in text_of(visited.get("/pages?prefix=/").text)


def test_without_a_report_a_sentence_says_what_adds_it(tmp_path: Path) -> None:
    Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1), Event(20))
    with serving(tmp_path) as served:
        assert "No report has visits: add [site]" in section(served, "/users?id=ann", "visits")
        assert "No report has page views by page and day: add [site]" in section(served, "/pages?url=/", "days")
        assert "No report has single pages" in section(served, "/pages?prefix=/", "now")
        assert "ann" in section(served, "/users?prefix=a", "now")


def test_an_erased_user_has_no_visits_and_is_not_found(tmp_path: Path) -> None:
    visitors(tmp_path)
    assert erase_person(parsed_settings(f"--warehouse={tmp_path}"), "bob")
    with serving(tmp_path) as served:
        assert "No visits: the user had none, or was erased." in section(served, "/users?id=bob", "visits")
        assert "No user starts with this text" in section(served, "/users?prefix=bob", "now")
        assert "bob" not in section(served, "/?period=2024-05-03..2024-05-03", "list-users")


def test_pseudonyms_are_explained_where_no_user_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to_text = Opening.to_text
    monkeypatch.setattr(Opening, "to_text", lambda opening: to_text(replace(opening, pseudonyms="fingerprint")))
    Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1, "0123"), Event(20, "0123"))
    with serving(tmp_path) as served:
        assert "The tables have pseudonyms in place of user ids" in section(served, "/users?prefix=ann", "now")
