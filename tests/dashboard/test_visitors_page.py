"""The first page, for people who ask about visitors: its numbers are those of `/traffic.json`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.eyes import DESK, PHONE, Scheme, eyes
from tests.dashboard.scene import EVIL, Served, serving, text_of
from tests.periods.conftest import warehouse
from tests.periods.traffic_site import SECOND, THIRD
from tests.support.chromium import chromium

pytestmark = pytest.mark.slow
__all__ = ["warehouse"]
WORDS_OF_OPERATORS = re.compile(r"\b(watermark|fired|ledger|epoch|batch|Delta)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def site(warehouse: Path) -> Iterator[Served]:
    with serving(warehouse) as page:
        yield page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def day(date: str, **more: str) -> str:
    return "&".join([f"period={date}..{date}", *(f"{name}={value}" for name, value in more.items())])


def section(html: str, identity: str) -> str:
    found = re.search(rf'<section id="{identity}".*?</section>', html, re.DOTALL)
    assert found, identity
    return text_of(found.group())


def test_figures_and_lists_are_those_of_the_object(site: Served) -> None:
    answer: dict[str, Any] = json.loads(site.get(f"/traffic.json?{day(SECOND, compare='previous')}").text)
    html = site.get(f"/?{day(SECOND)}").text
    figures = section(html, "figures")
    for label, name in (("Visitors", "visitors"), ("Visits", "visits"), ("Page views", "page_views")):
        assert f"{label} {answer['figures'][name]['value']} final" in figures
    assert "Bounce rate 50 % final" in figures
    assert "Duration of visits 30 s final" in figures
    for name, breakdown in answer["breakdowns"].items():
        said = section(html, f"list-{name}")
        numbers = [row.get("page_views", row.get("visits")) for row in breakdown["rows"]]
        assert [int(number) for number in re.findall(r" (\d+)(?= |$)", said)][-len(numbers) :] == numbers
    assert "Complete and final: these numbers change no more." in section(html, "now")


def test_a_day_that_is_not_over_says_until_when_each_number_counts(site: Served) -> None:
    html = site.get(f"/?{day(THIRD)}").text
    assert "Complete until 02:39, final until 02:38." in section(html, "now")
    figures = section(html, "figures")
    assert "Visitors 3 so far, until 02:00 +50 %: 3 against 2, both until 02:00" in figures
    assert "Page views 3 so far, until 02:39 No change: 3 against 3, both until 02:39" in figures
    chart = section(html, "chart")
    assert f"{THIRD} 02:00 so far, until 02:39 0 unknown 2 in all of it" in chart, (
        "the whole hour before is not compared as if equal"
    )
    assert 'class="beyond"' in html


def test_a_period_without_numbers_says_why_and_leads_to_the_last_day(site: Served) -> None:
    html = site.get("/").text
    assert f"No numbers: nothing of the period is complete yet: events are complete until {THIRD} 02:39." in (
        section(html, "now")
    )
    assert f'href="/?period={THIRD}..{THIRD}"' in html
    assert "unknown" in section(html, "figures")
    assert "There are no numbers to draw." in section(html, "chart")


def test_readers_are_spared_the_words_of_operators(site: Served) -> None:
    for path in ("/", f"/?{day(SECOND)}", f"/?{day(THIRD)}", f"/?{day(SECOND, compare='year')}"):
        html = site.get(path).text
        main = html[html.index("<main") : html.index("</main>")]
        assert WORDS_OF_OPERATORS.findall(text_of(main)) == []


def test_a_row_limits_the_page_to_its_value_and_can_be_removed(site: Served) -> None:
    html = site.get(f"/?{day(SECOND)}").text
    limited = f"/?period={SECOND}..{SECOND}&amp;page_url=%2Fa"
    assert f'href="{limited}"' in html
    html = site.get(limited.replace("&amp;", "&")).text
    assert "Only the page /a" in section(html, "now")
    assert "Page views 0 final" in section(html, "figures")
    assert "and 12 clicks" in section(html, "figures")
    assert f'<a href="/?period={SECOND}..{SECOND}">Show the whole site</a>' in html


@pytest.mark.parametrize("question", ["period=never", "compare=x", "zone=Nowhere", "user=ann", "period=7d&period=7d"])
def test_a_question_without_an_answer_says_what_to_write(site: Served, question: str) -> None:
    answer = site.get(f"/?{question}")
    assert answer.status == 400
    assert "This question has no answer" in answer.text
    assert "Yesterday" in section(answer.text, "now")


def test_a_day_that_the_zone_skipped_is_not_compared(site: Served) -> None:
    answer = site.get("/?zone=Pacific/Apia&period=2011-12-31..2011-12-31")
    assert answer.status == 200
    assert "No comparison: Pacific/Apia skipped a day between 2011-12-30 and 2011-12-30." in section(answer.text, "now")
    assert "Saturday, 2011-12-31" in text_of(answer.text)
    around = site.get("/?zone=Pacific/Apia&period=2011-12-29..2012-01-02")
    assert around.status == 200
    assert "Pacific/Apia skipped a day between" in section(around.text, "now")
    skipped = site.get("/?zone=Pacific/Apia&period=2011-12-30..2011-12-30")
    assert "Pacific/Apia had no 2011-12-30: its clocks skipped it." in section(skipped.text, "now")


def test_without_visits_the_page_says_which_line_adds_them(served: Served) -> None:
    said = section(served.get("/?period=2024-05-01..2024-05-01").text, "figures")
    assert "To see visits, bounces and durations, add to the settings of the service: [site]" in said
    assert "Visits unknown" in said


def test_evil_values_are_text(served: Served) -> None:
    html = served.get("/?period=2024-05-01..2024-05-01").text
    assert EVIL not in html
    assert "&lt;script&gt;document.title=" in html


@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_fits(browser: Browser, site: Served, width: int, scheme: Scheme) -> None:
    with eyes(browser, width, scheme) as person:
        for path in ("/", f"/?{day(THIRD)}", f"/?{day(SECOND, page_url='/a')}", "/?period=7d&compare=none"):
            person.open(site.address + path)
            person.page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
            assert person.barriers() == []
            assert person.overflow() <= 0
            assert person.cut_off() == []
            assert person.states("state")[1] == []
            assert person.complaints == []


def test_the_keyboard_reaches_every_control_and_nothing_needs_a_script(browser: Browser, site: Served) -> None:
    with eyes(browser, script=False) as person:
        person.open(f"{site.address}/?{day(THIRD)}")
        assert person.page.locator("rect.bar").count() == 3
        assert person.page.locator("line.compared").count() > 0
        names = person.press_through()
        assert [name for name in names if "UNSEEN" in name] == []
        assert {"a Earlier period", "a Later period", "a Yesterday", "summary The chart as a table"} <= {*names}
        person.page.click("text=Yesterday")
        assert "period=yesterday" in person.page.url


def test_three_clicks_lead_from_the_first_page_to_a_page_of_a_day_compared_with_a_week_before(
    browser: Browser, site: Served
) -> None:
    with eyes(browser) as person:
        person.open(site.address).page.click("#complete a")
        person.page.click("text=same weekday before")
        person.page.click("#list-pages a >> nth=0")
        expect(person.page.locator("#now")).to_contain_text("Only the page")
        assert "compare=week" in person.page.url
        assert f"period={THIRD}" in person.page.url


def test_a_printed_page_has_no_controls(browser: Browser, site: Served) -> None:
    with eyes(browser, scheme="dark") as person:
        person.open(f"{site.address}/?{day(SECOND)}").page.emulate_media(media="print")
        assert person.page.locator("#figures").is_visible()
        for selector in (".find", ".arrow", "header nav"):
            assert not person.page.locator(selector).first.is_visible()
        ground = person.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(255, 255, 255)"
