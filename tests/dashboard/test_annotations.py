"""Restarts, outages, corrections, erasures and lost records on the chart of the first page, and as a list."""

import re

import pytest

from tests.dashboard.scene import Served, text_of
from tests.dashboard.visitor_scene import TODAY, YESTERDAY

pytestmark = pytest.mark.slow


def notes(visited: Served, date: str) -> list[str]:
    """Returns the list of annotations of a day."""
    page = visited.get(f"/?period={date}..{date}").text
    found = re.search('<ol class="notes".*?</ol>', page, re.DOTALL)
    return [text_of(item) for item in re.findall("<li>.*?</li>", found.group() if found else "", re.DOTALL)]


def test_each_kind_is_on_the_day_of_which_it_explains_the_numbers(visited: Served) -> None:
    (correction,) = notes(visited, YESTERDAY)
    assert correction.startswith(f"Correction {YESTERDAY} 09:00:00 : 1 late event of this time was added at 20")
    outage, longer, loss, restart, erasure = notes(visited, TODAY)
    silence = "the service did not run, or had no events"
    assert outage == f"Outage {TODAY} 02:00:00 : nothing was read for 5.6 h, until {TODAY} 07:37:00: {silence}."
    assert longer == f"Outage {TODAY} 07:37:00 : nothing was read for 5 h, until {TODAY} 12:37:00: {silence}."
    assert restart == f"Restart {TODAY} 12:38:00 : the service was started again."
    assert loss.startswith(f"Loss {TODAY} 12:38:00 : 7 records had been deleted before they were read")
    assert erasure.startswith(f"Erasure {TODAY} 13:07:00 : a user was erased: users and visits of all days")


def test_days_without_an_event_of_the_service_have_no_list(visited: Served) -> None:
    assert notes(visited, "2024-05-05") == []


def test_near_annotations_share_a_mark(visited: Served) -> None:
    page = visited.get(f"/?period={TODAY}..{TODAY}").text
    labels = re.findall('class="note-label"[^>]*>([^<]*)<', page)
    assert labels == ["1", "2", "3\u20135"]
