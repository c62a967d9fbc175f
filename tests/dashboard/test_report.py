"""`tidemark report`: a day as one file, as it is written and as a real Chromium shows it."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Request

from tests.dashboard.eyes import DESK, PHONE, Scheme, eyes
from tests.support.chromium import chromium
from tests.verify.site import MINUTE, NOON, PAGE_VIEWS_ALONE, POLICY, Event, Site
from tidemark.pipeline.cli import main
from tidemark.pipeline.tables.handle import create_table
from tidemark.pipeline.tables.schemas import LEDGER

pytestmark = pytest.mark.slow
DAY = "2024-05-01"
MIDNIGHT = 720
"""In minutes after noon."""


def report(warehouse: Path, file: Path, *arguments: str, code: int = 0) -> str:
    """The page that the verb writes to a file, with single spaces; `code` is the exit code."""
    assert main(["report", "--warehouse", str(warehouse), "--output", str(file), *arguments]) == code
    return " ".join(file.read_text().split())


def tile(page: str, name: str) -> str:
    """The number under a heading."""
    (found,) = re.findall(rf"<dt>{name}</dt><dd>([^<]*)</dd>", page)
    return str(found)


def _noted(asked: list[str], request: Request) -> None:
    asked.append(request.url)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def file(story_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The day of the story."""
    written = tmp_path_factory.mktemp("written") / "day.html"
    report(story_warehouse, written, "--day", DAY)
    return written


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_file_needs_no_other_file_and_is_accessible(browser: Browser, file: Path, scheme: Scheme) -> None:
    for width in (DESK, PHONE):
        with eyes(browser, width, scheme) as person:
            asked = list[str]()
            person.page.on("request", partial(_noted, asked))
            person.open(file.as_uri())
            person.page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
            assert [address for address in asked if not address.startswith("data:")] == [file.as_uri()]
            assert person.barriers() == person.complaints == []
            assert person.overflow() <= 0
            ground = person.page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ground == {"light": "rgb(246, 247, 248)", "dark": "rgb(17, 23, 28)"}[scheme]
            assert person.page.title() == f"{DAY} - Tidemark"  # and not what the user of the story wants


def test_the_report_has_the_content_of_the_first_screen(browser: Browser, file: Path) -> None:
    with eyes(browser, script=False) as person:
        person.open(file.as_uri())
        for place, words in {
            "#now": "page views 10 by site traffic clicks 1 by site traffic users 5",
            "#traffic": "closed: final",
            "#top-user_id": "bob 4",
            "#top-page_url": "/a 4",
            "#watermark": "watermark 12:27:00",
            "#changed": "[2024-05-01 12:00, 12:10) corrected 2",
            "#ledger": "it balances Every record has exactly one verdict",
            "#dead": "malformed the value is not Avro of its schema 2",
        }.items():
            assert words in person.say(place), place


def test_no_word_of_it_leads_anywhere_else(file: Path) -> None:
    page = file.read_text()
    assert set(re.findall(r'(?:href|src|action)="([^"]{5})', page)) == {"#main", "data:"}
    assert "<script" not in page
    assert "@import" not in page
    assert "url(http" not in page


def test_each_event_is_in_one_day(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    site = Site(warehouse, POLICY, committed_at=NOON + MIDNIGHT * MINUTE - 30_000).open()
    site.batch(Event(1), Event(2, "bob"), Event(MIDNIGHT - 1), Event(MIDNIGHT - 11, "cid"))
    site.committed_at = NOON + MIDNIGHT * MINUTE
    site.batch(Event(MIDNIGHT), Event(MIDNIGHT + 9, "bob"), Event(MIDNIGHT + 1, "dan"))
    site.committed_at = NOON + (MIDNIGHT + 710) * MINUTE
    site.batch(Event(MIDNIGHT + 700))
    codes = {DAY: 0, "2024-05-02": 0, "2024-05-03": 3}
    pages = {day: report(warehouse, tmp_path / "day.html", "--day", day, code=code) for day, code in codes.items()}
    assert [tile(page, "page views") for page in pages.values() if "<dt>page views" in page] == ["4", "4"]
    assert [tile(page, "users") for page in pages.values()] == ["3", "3", "0"]
    # Each event is in two windows of the report of pages, and counts once all the same.
    tops = [re.findall(r'/</bdi><svg class="meter".*?<td class="n">(\d+)</td>', page) for page in pages.values()]
    assert tops == [["4"], ["4"], []]
    assert [tile(page, "records read") for page in pages.values() if "<dt>records read" in page] == ["4", "4"]
    behind = [re.findall(r"between clock and watermark over the day: ([^<]*?)\. The", page) for page in pages.values()]
    assert behind == [["30 s"], ["10 min"], []]
    assert "The watermark reached the end of the day at 2024-05-02 00:00:00: the results are final" in pages[DAY]
    assert "it is at 2024-05-02 11:40:00" in pages["2024-05-02"]


def test_the_day_of_a_replay_does_not_say_that_no_record_was_read(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    Site(warehouse, POLICY, committed_at=NOON + 30 * 1440 * MINUTE).open().batch(Event(1), Event(2, "bob"), Event(30))
    page = report(warehouse, tmp_path / "day.html", "--day", DAY)
    assert tile(page, "page views") == "3"
    assert "came late is unknown" not in page
    assert "<dt>records read" not in page
    assert "<dt>dead letters" not in page
    assert "No batch was committed on this day: its events were read on other days." in page


def test_a_day_starts_at_midnight_of_its_configured_zone(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    Site(warehouse, PAGE_VIEWS_ALONE, committed_at=NOON).open().batch(Event(MIDNIGHT - 119), Event(MIDNIGHT - 121))
    settings = tmp_path / "tidemark.toml"
    settings.write_text('[window]\nsize = "1h"\nzone = "Europe/Berlin"')
    at_home = report(warehouse, tmp_path / "a.html", "--day", DAY, "--config", str(settings))
    in_utc = report(warehouse, tmp_path / "b.html", "--day", DAY, "--config", str(settings), "--zone", "UTC")
    assert (tile(at_home, "page views"), tile(in_utc, "page views")) == ("1", "2")
    assert "[2024-05-01 23:40, 2024-05-02 00:00)" in at_home
    assert "in the time zone Europe/Berlin" in at_home
    unknown = "No record that was read on the day was too late. Whether 2 events came late is unknown: they were read"
    assert unknown in at_home


def test_a_day_without_events_says_when_there_are_some(
    story_warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = report(story_warehouse, tmp_path / "day.html", "--day", "2024-04-30", code=3)
    error = capsys.readouterr().err
    assert "tidemark: no window ends on 2024-04-30, and no batch was committed on it: choose a day by --day" in error
    assert "No event of this day was counted: published windows of site traffic end from" in page
    assert "No batch was committed on this day. The first batch was committed 2024-05-01 12:00:00" in page
    assert "on another day, with the watermark at 2024-05-01 12:27:00" in page
    assert "The day has not started" in report(story_warehouse, tmp_path / "day.html", "--day", "9000-01-01", code=3)


def test_before_the_first_batch_it_says_so(tmp_path: Path) -> None:
    create_table(LEDGER, str(tmp_path))
    assert "has no batch yet, so there are no results" in report(tmp_path, tmp_path / "day.html", code=3)


def test_without_events_of_any_day_it_says_so(tmp_path: Path) -> None:
    Site(tmp_path, PAGE_VIEWS_ALONE, committed_at=NOON).open()
    page = report(tmp_path, tmp_path / "day.html", "--day", DAY, code=0)
    assert "No event of this day was counted, and page views has published no window yet." in page
    assert "No event was read yet, so there is no watermark and no window fires." in page


def test_nothing_is_written_but_the_file_and_that_at_once(story_warehouse: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in story_warehouse.rglob("*")}
    file = tmp_path / "day.html"
    file.write_text("an older one")
    with file.open() as opened_before:
        assert report(story_warehouse, file, "--day", DAY).startswith("<!doctype html>")
        assert opened_before.read() == "an older one"  # an open file keeps its old content
    assert {path: path.stat().st_mtime_ns for path in story_warehouse.rglob("*")} == before
    assert [path.name for path in tmp_path.iterdir()] == ["day.html"]


def test_the_report_is_written_to_standard_output_or_to_a_file_named_by_the_day(
    story_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--warehouse", str(story_warehouse), "--day", DAY, "--output", "-"]) == 0
    assert capsysbinary.readouterr().out.startswith(b"<!doctype html>")
    assert list(tmp_path.iterdir()) == []
    assert main(["report", "--warehouse", str(story_warehouse), "--day", DAY]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [f"tidemark-{DAY}.html"]
    assert capsysbinary.readouterr().out == f"written to tidemark-{DAY}.html\n".encode()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--day", "tomorrow"], "is not a day: write today, yesterday, or a date"),
        (["--zone", "Berlin"], "there is no time zone 'Berlin': write one such as Europe/Berlin"),
        (["--output", "nothing/day.html"], "cannot write nothing/day.html: No such file or directory"),
        (["--output", "."], "cannot write .: "),
        (["--warehouse", "nowhere"], "/nowhere' (no ledger)"),
    ],
)
def test_a_configuration_error_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    create_table(LEDGER, "warehouse")
    assert main(["report", "--warehouse", "warehouse", *options]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert (said.err.count("\n"), said.out) == (1, "")
    assert [path.name for path in tmp_path.iterdir()] == ["warehouse"]
