"""A number of which a part will never be known is not shown like a whole number: on the first page and in its lists."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.dashboard.eyes import Scheme, eyes
from tests.dashboard.scene import Served, text_of
from tests.support.chromium import chromium

pytestmark = pytest.mark.slow
FIRST_DAY = "2024-05-01..2024-05-01"
"""The first event is at 14:00 in Berlin."""
FIRST_DAYS = "2024-04-30..2024-05-02"
BEFORE = "Times before the first event, of 14:00, are unknown"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def section(served: Served, period: str, identity: str) -> str:
    """Returns the words of a section of the first page."""
    found = re.search(rf'<section id="{identity}".*?</section>', served.get(f"/?period={period}").text, re.DOTALL)
    assert found, identity
    return text_of(found.group())


def test_the_strip_and_each_figure_say_which_part_is_known(visited: Served) -> None:
    said = section(visited, FIRST_DAY, "now")
    assert f"Known in part: from 14:00, final until 2024-05-02 00:00. {BEFORE}." in said
    figures = section(visited, FIRST_DAY, "figures")
    for figure in ("Visitors 3", "Visits 3", "Page views 5"):
        assert f"{figure} partial, from 14:00" in figures
    assert "3 new (partial)" in figures
    assert "No comparison" in figures
    assert "Bounce rate 67 % partial, from 14:00" in figures


def test_lists_say_which_part_is_known(visited: Served) -> None:
    for name in ("pages", "entries", "exits", "users", "referring_host"):
        assert "partial, from 14:00" in section(visited, FIRST_DAY, f"list-{name}")


def test_a_bar_of_which_a_part_is_known_says_so(visited: Served) -> None:
    html, said = visited.get(f"/?period={FIRST_DAYS}").text, section(visited, FIRST_DAYS, "chart")
    assert "2024-05-01 partial, from 2024-05-01 14:00 5 3" in said
    assert "2024-05-02 final 4 2" in said
    assert "not complete, or unknown" in said
    assert len(re.findall(r'<rect class="bar partial" fill="url\(#chart-open\)"', html)) == 1
    (gap,) = re.findall(r'class="beyond" fill="url\(#chart-open\)" x="0.0%" width="([0-9.]+)%"', html)
    assert 50 < float(gap) < 55  # a day and 14 of 24 hours, of three days


def test_a_whole_bar_is_not_compared_with_a_part(visited: Served) -> None:
    said = section(visited, "2024-05-02..2024-05-04", "chart")
    assert "2024-05-02 final 4 2 unknown 2024-05-" not in said
    compared = section(visited, "2024-05-04..2024-05-06", "chart")  # with May 1 to 3
    assert "2024-05-04 final 4 2 unknown" in compared
    assert "2024-05-05 final 5 3 4" in compared


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_partial_page_is_accessible(browser: Browser, visited: Served, scheme: Scheme) -> None:
    with eyes(browser, 390, scheme) as person:
        person.open(f"{visited.address}/?period={FIRST_DAYS}")
        person.page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
        assert (person.barriers(), person.cut_off(), person.complaints) == ([], [], [])
        assert person.overflow() <= 0
