"""The page while its server, the store or the service do not answer, and while a person uses it; at three widths."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from demo.children import free_port
from tests.dashboard.eyes import Eyes, Scheme, eyes
from tests.dashboard.scene import hanging, serving
from tests.support.chromium import chromium
from tests.support.processes import tidemark
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.instants import now_ms

pytestmark = [pytest.mark.slow, pytest.mark.long]
HOUR_MS = 3_600_000
SCREENS: tuple[tuple[int, Scheme], ...] = ((1280, "light"), (768, "dark"), (390, "light"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site whose batches count as new, however busy the machine is."""
    return opened(tmp_path / "warehouse", "ann", committed_at=now_ms() + HOUR_MS)


def opened(folder: Path, user: str, committed_at: int) -> Site:
    return Site(folder, PAGE_VIEWS_ALONE, committed_at=committed_at).open().batch(Event(1, user), Event(11, user))


@pytest.fixture
def people(browser: Browser) -> Iterator[list[Eyes]]:
    """Yields one person at each screen, who must see no error of a script and nothing wider than the screen."""
    with ExitStack() as stack:
        found = [stack.enter_context(eyes(browser, *screen)) for screen in SCREENS]
        yield found
        for person in found:
            assert person.overflow() <= 0
            assert [said for said in person.complaints if "Failed to load resource" not in said] == []


def photograph(people: list[Eyes], name: str) -> None:
    """Saves screenshots if TIDEMARK_TEST_PICTURES names a folder."""
    if folder := os.environ.get("TIDEMARK_TEST_PICTURES"):
        for person, (width, scheme) in zip(people, SCREENS, strict=True):
            for shade in (scheme, "dark" if scheme == "light" else "light"):
                person.page.emulate_media(color_scheme=shade)
                person.page.screenshot(path=Path(folder) / f"{name}-{width}-{shade}.png")


def test_a_stopped_server_is_noticed_and_what_a_person_did_survives(
    site: Site, people: list[Eyes], tmp_path: Path
) -> None:
    where = ("--warehouse", str(site.warehouse), "--dashboard.port", str(port := free_port()))
    with tidemark(tmp_path / "log", "dashboard", *where) as server:
        wait_for(lambda: "dashboard_listening" in server.said, PATIENCE_S, "the page")
        for person in people:
            person.open(f"http://127.0.0.1:{port}/pipeline")
            expect(person.page.locator("#traffic-table summary")).to_be_visible()
            person.page.click("#traffic-table summary")
            person.page.fill("#find-user_id", "typed")
        server.send_to_group(signal.SIGSTOP)
        for person in people:
            expect(person.page.locator("#updates")).to_contain_text("The dashboard has not answered since")
            age = person.page.inner_text("#since")
            expect(person.page.locator("#since")).not_to_have_text(age)  # it is counted
            assert "Live." not in person.page.inner_text("#now")
            assert "page views" in person.say("#traffic")
            assert person.barriers() == []
        photograph(people, "stopped")
        server.send_to_group(signal.SIGCONT)
        site.batch(Event(12, "zoe"))
        for person in people:
            expect(person.page.locator("#top-user_id")).to_contain_text("zoe")
            expect(person.page.locator("#updates")).to_have_text("")
            assert person.page.input_value("#find-user_id") == "typed"
            assert person.page.is_visible("#traffic-table table")


def test_a_store_that_hangs_is_named_on_the_page_and_its_numbers_stay(site: Site, people: list[Eyes]) -> None:
    with serving(Path(site.warehouse)) as page:
        for person in people:
            person.open(page.pipeline)
            expect(person.page.locator("#now")).to_contain_text("The last known batch was committed")
        with hanging(Path(site.warehouse)):
            for person in people:
                expect(person.page.locator("#now")).to_contain_text("The store of the tables does not answer")
                assert "ann" in person.say("#top-user_id")
                assert person.barriers() == []
            photograph(people, "hanging")
            person = people[0]
            person.page.goto(f"{page.address}/reports/page_views")
            assert "their store last answered at" in person.say("#now")
        expect(people[0].page.locator("h1")).to_have_text("page views")  # without a reload
        site.batch(Event(12, "zoe"))
        for person in people[1:]:
            expect(person.page.locator("#top-user_id")).to_contain_text("zoe")


def test_a_silent_service_and_a_recreated_warehouse_are_shown_without_a_reload(
    people: list[Eyes], tmp_path: Path
) -> None:
    folder = tmp_path / "warehouse"
    opened(folder, "bob", committed_at=now_ms())
    with serving(folder) as page:
        for person in people:
            person.open(page.pipeline)
            expect(person.page.locator("#now")).to_contain_text("Nothing was committed for")
            expect(person.page.locator("#now")).to_contain_text("The service is stopped")
            person.page.evaluate("window.isSame = true")
            age = person.page.inner_text("#now [data-at]")
            expect(person.page.locator("#now [data-at]")).not_to_have_text(age)  # it is counted
        photograph(people, "away")
        shutil.rmtree(folder)
        new = opened(folder, "zoe", committed_at=now_ms())
        for _ in range(3):
            new.batch(Event(12, "zoe"))
        for person in people:
            expect(person.page.locator("#ledger")).to_contain_text("batch 4")
            assert "of 5 records" in person.say("#now")
            assert "bob" not in person.say("main")
            assert person.page.evaluate("window.isSame")


def test_a_list_goes_on_under_a_cursor_and_a_pressed_link_stays(site: Site, people: list[Eyes]) -> None:
    with serving(Path(site.warehouse)) as page:
        for person in people:
            person.open(page.pipeline).page.click("#find-user_id")
            person.page.keyboard.type("bo")
            person.page.keyboard.press("ArrowLeft")
            person.page.evaluate("document.querySelector('#top-user_id tbody tr').isSame = true")
        site.batch(*[Event(12, "zoe")] * 5)
        for person in people:
            expect(person.page.locator("#top-user_id tbody tr").first).to_contain_text("zoe")
            person.page.keyboard.type("-")
            assert person.page.input_value("#find-user_id") == "b-o"
            rows = person.page.locator("#top-user_id tbody tr")
            assert rows.evaluate_all("rows => rows.map(row => !!row.isSame)") == [False, True]
        shown = "zoe"
        for person, user in zip(people, ("eve", "fay", "gil"), strict=True):
            expect(person.page.locator("#top-user_id")).to_contain_text(shown)  # nothing moves before the click
            person.page.locator("#top-user_id tbody tr a", has_text="ann").hover()
            person.page.mouse.down()
            site.batch(*[Event(13, shown := user)] * 9)
            with person.page.expect_response(lambda answer: answer.status == 200):
                pass
            expect(person.page.locator("#updates")).to_have_text("Updates wait while a button is pressed.")
            person.page.mouse.up()
            expect(person.page.locator("h1")).to_have_text("User ann")


def test_paused_and_earlier_pages_do_not_say_live(site: Site, people: list[Eyes]) -> None:
    with serving(Path(site.warehouse)) as page:
        for person in people:
            person.open(f"{page.address}/reports/page_views?until={now_ms()}")
            expect(person.page.locator("#now")).to_contain_text("An earlier part of the list")
            expect(person.page.locator("#pause")).to_have_text("Resume updates")
            assert "Live." not in person.page.inner_text("#now")
            site.batch(Event(12))
            person.open(page.pipeline)
            expect(person.page.locator("#now")).to_contain_text("Live.")
            person.page.click("#pause")
            expect(person.page.locator("#updates")).to_have_text("Updates are paused.")
            assert "Live." not in person.page.inner_text("#now")
        photograph(people, "paused")
