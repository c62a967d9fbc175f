"""Pages of a dimension with a `top`: all others are no value, and a number that is not known is never 0."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.dashboard.scene import Served, serving, text_of
from tests.verify.site import MINUTE, POLICY, Event, Site
from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid

pytestmark = pytest.mark.slow
HOUR = 60 * MINUTE
PLANS = Report("plans", Grid(HOUR, HOUR), MINUTE, ("plan",), dimensions=(Dimension("plan", path="plan", top=2),))
PERIOD = "period=2024-05-01..2024-05-01&compare=none"


def visits(hour: int, **counts: int) -> list[Event]:
    """Returns visits in an hour after noon, by value."""
    return [Event(60 * hour + number / 60, host=host) for host, count in counts.items() for number in range(count)]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Three hours: in the first c and d are all others, in the second a and d, and in the third are two values."""
    folder = tmp_path_factory.mktemp("plans")
    site = Site(folder, replace(POLICY, reports=(PLANS,), totals=None)).open()
    site.batch(*visits(0, a=9, b=8, c=2, d=1))
    site.batch(*visits(1, b=7, c=5, a=3, d=1)).batch(*visits(2, a=4, b=1)).batch(Event(60 * 12 + 1))
    with serving(folder) as served:
        yield served


def asked(page: Served, **only: str) -> dict[str, Any]:
    filters = "".join(f"&{name}={value}" for name, value in only.items())
    found: dict[str, Any] = json.loads(page.get(f"/traffic.json?{PERIOD}{filters}").text)
    assert "error" not in found, found
    return found


def test_all_others_are_named_and_the_page_says_what_they_are(page: Served) -> None:
    words = text_of(page.get("/reports/plans").text)
    assert "all others" in words
    assert "the 2 values of plan with the most page views; others are one row, which has their number." in words
    of_value = text_of(page.get("/reports/plans?plan=c").text)
    assert "a window without a row of plan c may have events of it" in of_value


def test_a_period_counts_all_others_in_its_totals(page: Served) -> None:
    assert asked(page)["figures"]["page_views"]["value"] == 41


def test_a_value_that_may_be_among_all_others_is_unknown_and_never_0(page: Served) -> None:
    for value in ("c", "d", "x"):
        views = asked(page, plan=value)["figures"]["page_views"]
        assert (views["value"], views["state"]) == (None, "unknown")
        assert "a window has only the largest values of plan, and all others in one row" in views["reason"]


def test_a_list_is_about_unless_no_value_can_be_missing(page: Served) -> None:
    """The second window has no row of a, the first and the third no row of c."""
    found = asked(page)["breakdowns"]["plan"]
    assert [(row["key"], row["page_views"]) for row in found["rows"]] == [("b", 16), ("a", 13), ("c", 5)]
    assert (found["rest"], found["rest_rows"]) == ({"page_views": 7, "clicks": 0}, 1)
    assert found["about"].keys() == {"page_views", "clicks"}
    words = text_of(page.get(f"/?{PERIOD}").text)
    assert "page views (about)" in words
    assert "at least 1 other: 7" in words
    lines = page.get(f"/traffic.csv?{PERIOD}").text.splitlines()
    exact = lines[0].split(",").index("exact")
    assert {line.split(",")[exact] for line in lines if line.startswith("plan,b,")} == {"false"}
