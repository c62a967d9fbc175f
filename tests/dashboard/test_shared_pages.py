"""Pages are read once for all viewers, sent only if they have changed, and answered whatever the store does."""

import gzip
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from pipeline.instants import now_ms
from pipeline.reading.dashboard import shared_views
from pipeline.reading.ledger_summary import read_summary
from pipeline.reading.pages import table_reader
from tests.dashboard.scene import Answer, Served, hanging, serving
from tests.support.waiting import wait_for
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site

pytestmark = pytest.mark.slow
PATHS = ("/", "/reports/page_views", "/users?id=ann", "/dead-letters")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site whose batches are committed now."""
    return Site(tmp_path / "warehouse", PAGE_VIEWS_ALONE, committed_at=now_ms()).open().batch(Event(1), Event(11))


@pytest.fixture
def page(site: Site) -> Iterator[Served]:
    with serving(Path(site.warehouse)) as served:
        yield served


def version(answer: Answer) -> str:
    """The version of a page, as its script reads it."""
    (found,) = re.findall(r'data-version="(\w+)"', answer.text)
    return str(found)


def update(page: Served, path: str, displayed: str) -> Answer:
    """The answer to the script of a page that displays a version."""
    return page.ask(path, Tidemark_Version=displayed)


@pytest.mark.parametrize("path", PATHS)
def test_an_unchanged_page_is_not_sent_again(
    site: Site, page: Served, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    displayed = version(page.get(path))
    readings = Mock(wraps=read_summary)
    monkeypatch.setattr(table_reader, "read_summary", readings)
    answers = [wait_for(lambda: update(page, path, displayed), 60, path) for _ in range(3)]
    assert [(answer.status, answer.text) for answer in answers] == [(204, "")] * 3
    assert readings.call_count == 0
    assert int(answers[0].headers["Tidemark-Committed"]) == site.committed_at
    assert abs(int(answers[0].headers["Tidemark-Now"]) - now_ms()) < 60_000
    site.batch(Event(12, "zoe"))
    changed = wait_for(lambda: said if (said := update(page, path, displayed)).status == 200 else None, 60, path)
    assert version(changed) != displayed


def test_viewers_share_a_reading_and_pages_are_compressed(
    site: Site, page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.get()
    site.batch(Event(12))
    readings = Mock(wraps=read_summary)
    monkeypatch.setattr(table_reader, "read_summary", readings)
    first, second = page.get(), page.get()
    assert version(first) == version(second)
    assert readings.call_count == 1
    request = urllib.request.Request(page.address, headers={"Accept-Encoding": "gzip"})  # noqa: S310 - our own
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        body = answer.read()
    assert gzip.decompress(body).decode().startswith("<!doctype html>")
    assert len(body) < len(first.text) / 3


def test_updates_are_limited_to_a_share_of_a_core(site: Site, page: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    displayed = version(page.get())
    monkeypatch.setattr(shared_views, "_SHARE", 1e-9)
    site.committed_at += 1
    site.batch(Event(12, "zoe"))
    late = update(page, "/", displayed)
    assert (late.status, int(late.headers["Tidemark-Committed"])) == (204, site.committed_at)
    assert "zoe" in page.get().text  # a person waits for it


def test_a_store_that_hangs_is_reported_by_every_page_and_by_health(
    site: Site, page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_views, "_SILENT_MS", 1)
    assert page.get("/healthz").text == "ok\n"
    assert "Live." in page.get().text
    with hanging(Path(site.warehouse)):
        words = page.get().words()
        assert re.search(r"The store of the tables does not answer: it last answered at 20[\d-]+ [\d:]+ UTC", words)
        assert "The data below is from before" in words
        assert "Live." not in words
        new = page.ask("/reports/page_views")
        assert new.status == 503
        assert re.search(
            r"have been read for [\d.]+ s, and their store last answered at [^<]+ UTC, [\d.]+ \w+ ago", new.text
        )
        well = wait_for(lambda: said if (said := page.ask("/healthz")).status == 503 else None, 60, "a silent store")
        assert re.fullmatch(
            r"the store of the tables has been silent for [\d.]+ s; its last answer was [\d.]+ \w+ ago\n", well.text
        )
    assert "Live." in wait_for(lambda: said if "Live." in (said := page.get().text) else None, 60, "the store")
    wait_for(lambda: page.ask("/healthz").status == 200, 60, "health")


def test_a_store_that_fails_leaves_the_last_data_with_the_reason(site: Site, page: Served) -> None:
    assert page.get().status == 200
    log = Path(site.warehouse) / "ledger" / "_delta_log"
    entry = log / "00000000000000000001.json"
    entry.rename(log / "gone")
    answer = wait_for(lambda: said if "cannot be read" in (said := page.get()).text else None, 60, "the error")
    assert answer.status == 200
    assert "The data below is from before" in answer.text
    assert "page views" in answer.text
    (log / "gone").rename(entry)
    wait_for(lambda: "Live." in page.get().text, 60, "the store")


def test_an_earlier_part_of_a_list_is_not_live(page: Served) -> None:
    assert "Live." in page.get("/reports/page_views").text
    for path in (f"/reports/page_views?until={now_ms()}", "/dead-letters?until=1000000001"):
        answer = page.get(path)
        assert answer.status == 200
        assert "Live." not in answer.text
        assert "An earlier part of the list" in answer.text
