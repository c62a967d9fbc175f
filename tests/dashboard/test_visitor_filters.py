"""Rows of breakdowns as filters: numbers that reports have, and a sentence where no report has them."""

import html
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.dashboard.scene import Served, text_of
from tests.dashboard.visitor_scene import HOST, OTHER_HOST, TODAY

pytestmark = pytest.mark.slow
WEEK = "7d"
"""May 3 to 9: seven visits of ann, seven of guests, bob on May 3, 5, 7 and 9, and a late event on May 9."""


def asked(visited: Served, **question: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(visited.get(f"/traffic.json?{urlencode(question)}").text)
    assert "error" not in found, found
    return found


def values(answer: dict[str, Any], *names: str) -> list[Any]:
    return [answer["figures"][name]["value"] for name in names]


def rows(answer: dict[str, Any], name: str) -> list[tuple[Any, ...]]:
    return [(row["key"], row.get("visits", row.get("page_views"))) for row in answer["breakdowns"][name]["rows"]]


def test_without_a_filter_everything_is_counted(visited: Served) -> None:
    answer = asked(visited, period=WEEK)
    assert values(answer, "visitors", "visits", "page_views", "clicks") == [10, 19, 33, 14]
    assert rows(answer, "entries") == [("/", 7), ("/help", 7), ("/shop", 4), (None, 1)]


def test_visits_are_filtered_by_where_they_came_from_entered_and_left(visited: Served) -> None:
    answer = asked(visited, period=WEEK, referring_host=OTHER_HOST, entry_page="/help")
    assert values(answer, "visits", "bounce_rate") == [7, 1.0]
    assert rows(answer, "exits") == [("/help", 7)]
    assert values(asked(visited, period=WEEK, exit_page="/shop", user_id="bob"), "visits") == [4]
    assert values(asked(visited, period=WEEK, exit_page="/shop", user_id="ann"), "visits") == [0]


def test_a_user_and_a_host_have_the_numbers_of_their_own_reports(visited: Served) -> None:
    ann = asked(visited, period=WEEK, user_id="ann", compare="none")
    assert values(ann, "visitors", "visits", "page_views", "clicks") == [1, 7, 21, 14]
    assert ann["figures"]["visitors"]["exact"]
    assert [bar["page_views"] for bar in ann["series"]] == [3] * 7
    host = asked(visited, period=WEEK, referring_host=HOST)
    assert values(host, "visits", "page_views") == [7, 7]  # of each visit the first view has the referrer
    assert rows(host, "users") == [("ann", 7)]


def test_a_combination_without_a_report_says_which_would_answer_it(visited: Served) -> None:
    answer = asked(visited, period=WEEK, user_id="ann", page_url="/shop")
    views, pages = answer["figures"]["page_views"], answer["breakdowns"]["pages"]
    sentence = (
        "no report has page views and clicks by user_id and page_url: add a report with the keys user_id and page_url"
    )
    assert (views["value"], views["state"], views["reason"]) == (None, "unknown", sentence)
    assert (pages["state"], pages["reason"]) == ("unknown", sentence)
    of_visits = asked(visited, period=WEEK, entry_page="/")["figures"]["page_views"]
    assert of_visits["reason"] == "page views and clicks by entry_page are not counted: only visits have entry_page"
    both = asked(visited, period=WEEK, entry_page="/", page_url="/shop")["figures"]["visits"]
    assert both["reason"] == "a visit has its entry page, and not all of its pages: leave out page_url or entry_page"


def test_a_visit_that_is_going_has_no_exit_page_yet(visited: Served) -> None:
    period = f"{TODAY}..{TODAY}"
    visits = asked(visited, period=period, exit_page="/shop")["figures"]["visits"]
    assert (visits["value"], visits["still_going"], visits["state"]) == (0, 1, "so far")
    assert asked(visited, period=period, entry_page="/shop")["figures"]["visits"]["value"] == 1


def test_filters_are_in_the_address_and_each_can_be_removed(visited: Served) -> None:
    page = html.unescape(visited.get(f"/?period={WEEK}&entry_page=/&user_id=ann").text)
    said = text_of(page)
    assert "Only the entry page /" in said
    assert "Only the user ann" in said
    assert f'href="/?period={WEEK}&user_id=ann" aria-label="Remove the filter entry page"' in page
    assert f'href="/?period={WEEK}&entry_page=%2F" aria-label="Remove the filter user"' in page
    assert f'<a href="/?period={WEEK}">Show the whole site</a>' in page
    assert f'href="/?period={WEEK}&entry_page=%2F&user_id=ann&exit_page=%2Fbuy"' in page
    assert "Lists without an answer" in said
    assert "No page views: page views and clicks by entry_page and user_id are not counted" in said


def test_a_filter_that_no_report_has_is_refused_with_those_that_exist(visited: Served) -> None:
    answer = visited.get("/traffic.json?campaign=x")
    assert answer.status == 400
    names = "period, compare, zone, page_url, user_id, entry_page, exit_page, referring_host"
    assert json.loads(answer.text)["error"] == f"there is no parameter 'campaign': the parameters are {names}"
