"""The pages as they are served, over tables that the project's own writers made."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from tests.dashboard.scene import EVIL, Served, malformed, rejected, serving, story
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.plant import alter, change
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.web.pages import window_sums

pytestmark = [pytest.mark.slow, pytest.mark.core]
PATHS = [
    "/",
    "/pipeline",
    "/reports/page_views",
    "/reports/days",
    "/reports/sessions",
    "/reports/pairs",
    "/users?id=bob",
    "/pages?url=/a",
    "/dead-letters",
    "/dead-letters?reason=malformed",
    f"/users?{urlencode({'id': EVIL})}",
    f"/pages?{urlencode({'url': EVIL})}",
]


class Seen(HTMLParser):
    """The elements and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name == "href" and value]


def test_the_first_screen_has_every_section(served: Served) -> None:
    answer = served.get().words()
    for heading in (
        "Traffic",
        "Top pages",
        "Top users",
        "Watermark",
        "Late events and changed windows",
        "Whether 5 events came late is unknown",
        "Ledger",
        "Dead letters",
    ):
        assert heading in answer
    assert "Nothing was committed for" in answer
    assert "The service is stopped, or on another host: nothing listens at" in answer
    assert "it balances" in answer
    assert "Partition 1 is idle" in answer or "Partitions 1, 2 are idle" in answer


def test_open_windows_are_marked_as_open_and_late_ones_as_changed(served: Served) -> None:
    answer = served.get().words()
    for state in ("open", "closed", "corrected"):
        assert f'class="state {state}"' in answer
    assert "These windows accepted late events and fired again" in answer
    assert '<th scope="col">correction</th>' in answer


def test_dead_letters_are_counted_by_reason_and_one_is_opened(served: Served) -> None:
    answer = served.get("/dead-letters").words()
    assert re.search(r'malformed <span class="count">2<', answer)
    assert re.search(r'future <span class="count">1<', answer)
    found = served.get("/dead-letters?reason=future")
    (link,) = [one for one in Seen(found.text).links if re.match(r"/dead-letters/\d", one)]
    opened = served.get(link).words()
    assert "Its time 2024-05-02 12:00:00 is too far ahead of its Kafka timestamp 2024-05-01 12:00:00" in opened
    assert "It is Avro of schema 1, UserEvent." in opened


def test_a_broken_record_is_decoded_as_far_as_possible(served: Served) -> None:
    links = [one for one in Seen(served.get("/dead-letters?reason=malformed").text).links if "/dead-letters/1" in one]
    said = " ".join(served.get(link).words() for link in links)
    assert "event_id, field 1 of 9, is unreadable" in said
    assert "The record has no value: a tombstone, or" in said


def test_the_history_of_a_user_has_the_rows_of_each_report(served: Served) -> None:
    answer = served.get("/users?id=bob").words()
    assert "User <bdi>bob</bdi>" in answer
    assert "first seen" in answer  # of user_totals
    assert "<dt>bucket</dt>" not in answer
    for report in ("page views", "sessions", "pairs"):
        assert f">{report}</h2>" in answer
    assert "cid" not in answer


def test_the_history_of_a_page_is_of_that_page(served: Served) -> None:
    answer = served.get("/pages?url=/a").words()
    assert "Page <bdi>/a</bdi>" in answer
    assert ">pages</h2>" in answer


@pytest.mark.parametrize("path", PATHS)
def test_text_from_events_cannot_become_markup(served: Served, path: str) -> None:
    answer = served.get(path)
    seen = Seen(answer.text)
    assert answer.status == 200
    assert seen.tags.count("script") == 2  # the page's own
    assert "style" not in seen.attributes  # which the policy forbids
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_the_evil_user_is_listed_and_has_a_page(served: Served) -> None:
    links = Seen(served.get("/reports/page_views").text).links
    (link,) = {one for one in links if one.startswith("/users?id=%3Cscript")}
    assert "&lt;script&gt;document.title=&#39;taken&#39;" in served.get(link).text
    assert "[2024-05-01 14:00, 14:10)" in re.sub("<[^>]*>", "", served.get(link).text)  # in Berlin


def test_every_link_of_a_page_leads_somewhere(served: Served) -> None:
    links = {link for path in PATHS for link in Seen(served.get(path).text).links if link.startswith("/")}
    assert {link: served.get(link).status for link in links if link not in PATHS} == dict.fromkeys(
        links - {*PATHS}, 200
    )


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/reports/nothing",
        "/reports/ledger",
        "/reports/" + quote("page_views; DROP TABLE ledger"),
        "/users?id=ann&until=x",
        "/dead-letters?reason=nothing",
        "/dead-letters/1/1/1",
        f"/dead-letters/1/1/{10**30}",
        "/dead-letters?until=x",
        "/dead-letters?skip=-1",
        f"/reports/page_views?until={10**30}",
    ],
)
def test_an_unknown_page_is_a_404_with_a_sentence(served: Served, path: str) -> None:
    answer = served.get(path)
    assert answer.status == 404
    assert re.search(r'class="notice warn">[A-Z][^<]+\.<', answer.text)
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("path", ["/users?id=", "/reports/page_views?user_id=", "/pages?url="])
@pytest.mark.parametrize("value", ["'", "''", "\\'", "a' OR 'a' = 'a", "%", "\0", "x" * 5000, "ü\u202e\ud7ff", ";--"])
def test_no_value_is_anything_but_a_value(served: Served, path: str, value: str) -> None:
    answer = served.get(path + quote(value))
    assert answer.status == 200
    assert "No rows" in answer.text


def test_nothing_is_written(story_warehouse: Path, served: Served) -> None:
    before = {path: path.stat().st_mtime_ns for path in story_warehouse.rglob("*")}
    for path in PATHS:
        served.get(path)
    assert {path: path.stat().st_mtime_ns for path in story_warehouse.rglob("*")} == before


@pytest.mark.parametrize("path", PATHS)
def test_there_is_nothing_to_do_but_look(served: Served, path: str) -> None:
    assert served.get(path, b"said").status == 405


def test_rows_go_on_from_page_to_page_each_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows(served.get("/reports/page_views").text)
    monkeypatch.setattr(window_sums, "ROWS", 3)
    found, path = list[str](), "/reports/page_views"
    while path:
        text = served.get(path).text
        found += rows(text)
        path = next((one for one in Seen(text).links if "skip=" in one), "")
    assert found == whole
    assert len(found) > 6


def rows(text: str) -> list[str]:
    """The rows of a report's page."""
    (table,) = re.findall(r'aria-label="Rows of[^>]*>.*?</table>', text, re.DOTALL)
    return re.findall(r"<tr><th scope=\"row\">.*?</tr>", table, re.DOTALL)


def test_without_a_warehouse_the_page_says_what_to_do_and_later_displays_it(tmp_path: Path) -> None:
    with serving(tmp_path) as page:
        answer = page.get().words()
        assert "There is no ledger in" in answer
        assert "tidemark run --bootstrap-servers" in answer
        assert page.get("/reports/page_views").status == 404
        site = Site(tmp_path, PAGE_VIEWS_ALONE).open()
        wait_for_words(page, "No event was read yet")
        site.batch(Event(1), Event(11))
        wait_for_words(page, "The only partition moves the watermark.")


def wait_for_words(page: Served, words: str) -> str:
    """The first screen, once it has these words: what all see together may be half a second old."""
    return wait_for(lambda: said if words in (said := page.get().words()) else None, PATIENCE_S, words)


def test_a_batch_that_was_not_committed_is_not_shown(tmp_path: Path) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1), Event(31))
    site.batch(Event(2, "ann")).batch(Event(2, "zoe"), Event(32, "zoe"), commit=False)
    with serving(tmp_path) as page:
        for path in ("/pipeline", "/dead-letters", "/dead-letters?reason=too_late", "/reports/page_views"):
            text = page.get(path).text
            assert "><bdi>ann</bdi></a>" in text
            assert "zoe" not in text


def test_an_empty_user_id_is_displayed_without_a_link(tmp_path: Path) -> None:
    nobody = story(tmp_path)
    rejected(nobody, {**malformed(nobody, b"\0\0\0\0\1"), "user_id": ""})
    with serving(tmp_path) as page:
        for path in ("/pipeline", "/dead-letters"):
            answer = page.get(path)
            assert 'href="/users"' not in answer.text
            assert "empty" in answer.words()


def test_a_record_of_an_erased_user_is_counted_without_its_content(tmp_path: Path) -> None:
    Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1), Event(31)).batch(Event(2, "zoe"))
    alter(tmp_path, "ledger", change({"too_late": 1}, too_late=0, erased=1))
    nothing = dict.fromkeys(("user_id", "key", "value", "event_time"))
    alter(tmp_path, "dead_letters", change({"reason": "too_late"}, reason="erased", **nothing))
    with serving(tmp_path) as page:
        answer = page.get("/pipeline").words()
        assert "it balances" in answer
        assert 'erased</dt><dd><a href="/dead-letters?reason=erased">1</a></dd>' in answer
        assert "malformed 0 %, erased 100 %" in answer
        found = page.get("/dead-letters?reason=erased").text
        (link,) = [one for one in Seen(found).links if re.match(r"/dead-letters/\d", one)]
        assert "Its user was erased, and later events of the user are dropped" in page.get(link).words()


def test_a_recreated_warehouse_is_displayed(tmp_path: Path) -> None:
    folder = tmp_path / "warehouse"
    story(folder)
    with serving(folder) as page:
        assert "epoch 1, batch 6" in page.get().words()
        shutil.rmtree(folder)
        Site(folder, PAGE_VIEWS_ALONE).open().batch(Event(1))
        wait_for_words(page, "epoch 1, batch 1")


@pytest.mark.parametrize("batches", [2, 5])
def test_a_recreated_warehouse_is_not_added_to_the_sums_of_the_old_one(tmp_path: Path, batches: int) -> None:
    folder = tmp_path / "warehouse"
    old = Site(folder, PAGE_VIEWS_ALONE).open()
    for minute in range(3):
        old.batch(Event(minute, "ann"), Event(minute, "bob"))
    with serving(folder) as page:
        assert "of 6 records" in page.get().words()
        shutil.rmtree(folder)
        new = Site(folder, PAGE_VIEWS_ALONE).open()
        for minute in range(batches):
            new.batch(Event(minute, "zoe"))
        answer = wait_for_words(page, f"epoch 1, batch {batches}")
        assert f"of {batches} records" in answer
        assert "zoe" in answer
        assert "bob" not in answer


def test_unreadable_tables_are_a_503_with_a_sentence(tmp_path: Path) -> None:
    Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1))
    for file in (tmp_path / "panes").rglob("*.parquet"):
        file.write_bytes(b"nothing")
    with serving(tmp_path) as page:
        answer = page.get()
        assert answer.status == 503
        assert "The tables cannot be read: " in answer.text
        assert "Traceback" not in answer.text


def test_the_summary_grows_with_the_ledger_and_are_not_read_again(tmp_path: Path) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE).open()
    with serving(tmp_path) as page:
        for minute in range(0, 40, 4):
            site.batch(Event(minute), Event(minute, "bob"))
            wait_for_words(page, f"of {2 * (minute // 4 + 1)} records")
