"""The page of a report with count windows that slide, two of which may have the same bounds."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.dashboard.scene import serving
from tests.verify.site import LAST_THREE, PAGE_VIEWS_ALONE, Event, Site

pytestmark = pytest.mark.slow


def test_windows_of_the_last_events_are_displayed_each_even_with_equal_bounds(tmp_path: Path) -> None:
    events = [Event(1)] * 4
    Site(tmp_path, replace(PAGE_VIEWS_ALONE, reports=(LAST_THREE,))).open().batch(*events)
    with serving(tmp_path) as page:
        answer = page.get("/reports/last_three")
        assert "Windows of the last 3 events, after every 2 events, one row per user id" in answer.words()
        # Of events 1 to 2, of 2 to 4, and of 4, which waits for the sixth.
        found = re.findall(r'>(open|closed)<.*?data-name="page views">(\d)<', answer.text)
        assert sorted(found) == [("closed", "2"), ("closed", "3"), ("open", "1")]
