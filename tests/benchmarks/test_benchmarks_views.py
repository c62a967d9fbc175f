"""The measurements of the dashboard's views and of open tabs, in small."""

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from benchmarks import tabs, traffic, views
from tests.support.seeds import in_turn
from tests.support.waiting import PATIENCE_S, wait_for


class _LateHandler(BaseHTTPRequestHandler):
    """Sends Retry-After with the first two answers, which have status 503 and 200, and with no further answer."""

    later: ClassVar = [HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.OK]

    def do_GET(self) -> None:
        self.send_response(self.later.pop(0) if (is_late := bool(self.later)) else HTTPStatus.OK)
        if is_late:
            self.send_header("Retry-After", "1")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_an_answer_that_comes_later_is_waited_for() -> None:
    with HTTPServer(("127.0.0.1", 0), _LateHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        views.ask(server.server_port, "/traffic.json")
        server.shutdown()
    assert not _LateHandler.later


@pytest.mark.slow
@in_turn(0, 2)
def test_each_view_is_asked_of_each_warehouse(tmp_path: Path) -> None:
    found = views.views_by_rows([46_000, 92_000], 1, tmp_path)
    assert all(0 < one["median"] <= one["highest"] for by_view in found.values() for one in by_view.values())
    assert [len(by_view) for by_view in found.values()] == [8, 8]
    assert views.render(found).row_count == 8


@pytest.mark.slow
@in_turn(1, 4)
def test_each_question_about_a_period_is_asked_of_a_year_of_rows(tmp_path: Path) -> None:
    found = traffic.traffic_by_rows([1_000], 1, tmp_path)
    assert [*found[1_000]] == [*traffic.QUESTIONS, traffic.DUCKDB]
    assert traffic.render(found).row_count == 5


@pytest.mark.slow
@pytest.mark.nightly
def test_tabs_on_an_unchanged_warehouse_are_sent_no_page(tmp_path: Path) -> None:
    found = tabs.costs(2, tmp_path, ("no tab, unchanged", "one tab, unchanged"))
    # The picture of the watermark is drawn again twice a minute, because it shows the clock.
    assert all(cost.pages <= 1 for cost in found.values())
    assert found["no tab, unchanged"].bytes_per_day == 0 < found["one tab, unchanged"].bytes_per_day
    assert tabs.render(found).row_count == len(found)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_tab_is_sent_the_pages_of_a_changing_warehouse(tmp_path: Path) -> None:
    """A page is read again only if the readings use less than their share of a core: seldom on a busy machine."""
    scene, folders = "one tab, a batch each second", (tmp_path / str(number) for number in count())
    wait_for(lambda: tabs.costs(2, next(folders), (scene,))[scene].pages, PATIENCE_S, "a page")
