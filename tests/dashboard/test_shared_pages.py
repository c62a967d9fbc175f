"""Pages are read once for all viewers, sent only if they have changed, and answered whatever the store does."""

import gzip
import re
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.dashboard.scene import Answer, Served, hanging, serving
from tests.metrics.fakes import POLICY, World, frontier
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.metrics.exporter import Exporter
from tidemark.pipeline.metrics.observer import Observer
from tidemark.pipeline.reading import table_reader
from tidemark.pipeline.reading.ledger_summary import read_summary
from tidemark.pipeline.settings.model import MetricsSettings
from tidemark.pipeline.web.dashboard import dashboard_pages, shared_views

pytestmark = pytest.mark.slow
PATHS = ("/", "/pipeline", "/reports/page_views", "/users?id=ann", "/dead-letters")


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the picture of the watermark from being drawn again for its clock."""
    monkeypatch.setattr(dashboard_pages, "_CLOCK_MS", 10**15)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site whose batches count as new, however busy the machine is."""
    committed_at = now_ms() + 3_600_000
    return Site(tmp_path / "warehouse", PAGE_VIEWS_ALONE, committed_at=committed_at).open().batch(Event(1), Event(11))


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
    began_ms = now_ms()
    answers = [wait_for(lambda: update(page, path, displayed), PATIENCE_S, path) for _ in range(3)]
    assert [(answer.status, answer.text) for answer in answers] == [(204, "")] * 3
    assert readings.call_count == 0
    assert int(answers[0].headers["Tidemark-Committed"]) == site.committed_at
    assert began_ms <= int(answers[0].headers["Tidemark-Now"]) <= now_ms()
    site.batch(Event(12, "zoe"))
    changed = wait_for(
        lambda: said if (said := update(page, path, displayed)).status == 200 else None, PATIENCE_S, path
    )
    assert version(changed) != displayed


def test_viewers_share_a_reading_and_pages_are_compressed(
    site: Site, page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = version(page.get())
    site.batch(Event(12))
    readings = Mock(wraps=read_summary)
    monkeypatch.setattr(table_reader, "read_summary", readings)
    first = wait_for(lambda: said if version(said := page.get()) != before else None, PATIENCE_S, "the new page")
    second = page.get()
    assert version(first) == version(second)
    assert readings.call_count == 1
    request = urllib.request.Request(page.pipeline, headers={"Accept-Encoding": "gzip"})  # noqa: S310 - our own
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        body = answer.read()
    assert gzip.decompress(body).decode().startswith("<!doctype html>")
    assert len(body) < len(first.text) / 3


def test_updates_are_limited_to_a_share_of_a_core(site: Site, page: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    displayed = version(page.get())
    monkeypatch.setattr(shared_views, "_SHARE", 1e-9)
    site.committed_at += 1
    site.batch(Event(12, "zoe"))

    def knows_the_batch() -> bool:
        late = update(page, "/pipeline", displayed)
        assert late.status == 204
        return int(late.headers["Tidemark-Committed"]) == site.committed_at

    wait_for(knows_the_batch, PATIENCE_S, "the look at the new batch")
    wait_for(lambda: "zoe" in page.get().text, PATIENCE_S, "the page that a person loads")


def test_a_store_that_hangs_is_reported_by_every_page_and_by_health(
    site: Site, page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert page.get("/healthz").text == "ok\n"
    wait_for(lambda: "Live." in page.get().text, PATIENCE_S, "the page")
    with monkeypatch.context() as patch, hanging(Path(site.warehouse)):
        patch.setattr(shared_views, "_SILENT_MS", 1)  # a busy machine reads for longer than that
        silent = "The store of the tables does not answer"
        words = wait_for(lambda: said if silent in (said := page.get().words()) else "", PATIENCE_S, silent)
        assert re.search(r"The store of the tables does not answer: it last answered at 20[\d-]+ [\d:]+ UTC", words)
        assert "The data below is from before" in words
        assert "Live." not in words
        new = page.ask("/reports/page_views")
        assert new.status == 200
        assert re.search(
            r"have been read for [\d.]+ s, and their store last answered at [^<]+ UTC, [\d.]+ \w+ ago", new.text
        )
        well = wait_for(
            lambda: said if (said := page.ask("/healthz")).status == 503 else None, PATIENCE_S, "a silent store"
        )
        assert re.fullmatch(
            r"the store of the tables has been silent for [\d.]+ s; its last answer was [\d.]+ \w+ ago\n", well.text
        )
    assert "Live." in wait_for(lambda: said if "Live." in (said := page.get().text) else None, PATIENCE_S, "the store")
    wait_for(lambda: page.ask("/healthz").status == 200, PATIENCE_S, "health")


def test_the_first_view_of_a_page_says_that_it_loads_and_becomes_the_page(site: Site, page: Served) -> None:
    with hanging(Path(site.warehouse)):
        first = page.ask()
        assert (first.status, first.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert "<h1>Loading</h1>" in first.text
        # The script asks again by itself, and without a script the browser does.
        assert "data-live" in first.text
        assert '<noscript><meta http-equiv="refresh" content="1"></noscript>' in first.text
        assert "reload it" not in first.text
        assert "data-version" not in first.text
        assert update(page, "/pipeline", "").status == 200
        assert update(page, "/pipeline", "displayed").status == 503, "the numbers that a page displays stay"
    assert "page views" in page.get().text


def test_a_page_that_is_not_read_in_time_does_not_say_that_nothing_was_committed(tmp_path: Path) -> None:
    Site(tmp_path, PAGE_VIEWS_ALONE, committed_at=now_ms() - 12_000).open().batch(Event(1))
    with serving(tmp_path) as page:
        assert "Nothing was committed for" in page.get().words()
        with hanging(tmp_path):
            words = page.ask().words()
    assert shared_views.READ_AGAIN in words
    assert "The data below is from before" in words
    assert "Nothing was committed" not in words


def test_a_store_that_fails_leaves_the_last_data_with_the_reason(site: Site, page: Served) -> None:
    assert page.get().status == 200
    log = Path(site.warehouse) / "ledger" / "_delta_log"
    entry = log / "00000000000000000001.json"
    entry.rename(log / "gone")
    answer = wait_for(lambda: said if "cannot be read" in (said := page.get()).text else None, PATIENCE_S, "the error")
    assert answer.status == 200
    assert "The data below is from before" in answer.text
    assert "page views" in answer.text
    (log / "gone").rename(entry)
    wait_for(lambda: "Live." in page.get().text, PATIENCE_S, "the store")


def test_an_earlier_part_of_a_list_is_not_live(page: Served) -> None:
    wait_for(lambda: "Live." in page.get("/reports/page_views").text, PATIENCE_S, "the page")
    for path in (f"/reports/page_views?until={now_ms()}", "/dead-letters?until=1000000001"):
        answer = page.get(path)
        assert answer.status == 200
        assert "Live." not in answer.text
        assert "An earlier part of the list" in answer.text


def test_while_nothing_is_committed_the_page_says_what_the_service_reports(tmp_path: Path) -> None:
    world = World(log_ends={0: 1_406})
    settings = MetricsSettings(port=0)
    observer = Observer(settings, POLICY, lambda: world.now, patience_s=30, interval_ms=30_000)
    observer.follow(world.ask)
    observer.opened(1, frontier({0: 0}))
    Site(tmp_path, PAGE_VIEWS_ALONE, committed_at=now_ms() - 12_000).open().batch(Event(1))
    with closing(Exporter(observer, settings)) as service, serving(tmp_path, service_port=service.port) as page:
        words = wait_for(lambda: said if "reports:" in (said := page.get().words()) else "", PATIENCE_S, "the service")
    assert "Nothing was committed for" in words
    assert "A batch starts every 30 s; no batch was committed yet; 1,406 records wait." in words
    assert 'class="notice"' in words
    assert "notice warn" not in words
