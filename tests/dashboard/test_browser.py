"""The page in a real Chromium: for every user, on every screen, and after failures."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from demo.children import free_port
from tests.dashboard.eyes import DESK, PHONE, Scheme, eyes
from tests.dashboard.scene import EVIL, Served, serving, story
from tests.support.chromium import chromium
from tests.support.seeds import drawn
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site

pytestmark = pytest.mark.slow
PATHS = {
    "visitors": "/?period=2024-05-01..2024-05-01",
    "overview": "/pipeline",
    "report": "/reports/page_views",
    "days": "/reports/days",
    "sessions": "/reports/sessions",
    "user": "/users?id=bob",
    "evil": f"/users?{urlencode({'id': EVIL})}",
    "page": "/pages?url=/a",
    "letters": "/dead-letters",
    "nothing": "/reports/nothing",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.mark.parametrize(
    ("width", "scheme"),
    drawn(
        [
            pytest.param(width, scheme, id=f"{name}-{scheme}")
            for name, width in (("desk", DESK), ("phone", PHONE))
            for scheme in ("light", "dark")
        ],
        count=1,
    ),
)
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_every_page_is_accessible_at_every_width(
    browser: Browser, served: Served, path: str, width: int, scheme: Scheme
) -> None:
    with eyes(browser, width, scheme) as person:
        person.open(served.address + path)
        person.page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
        assert person.barriers() == []
        assert person.overflow() <= 0
        assert [said for said in person.complaints if "404" not in said] == []


def test_every_control_is_reached_by_the_keyboard_and_seen_when_it_is(browser: Browser, served: Served) -> None:
    with eyes(browser) as person:
        person.open(served.pipeline).page.evaluate("document.getElementById('pause').click()")
        names = person.press_through()
        assert names[0] == "a Skip to the content"
        assert [name for name in names if "UNSEEN" in name] == []
        wanted = person.page.eval_on_selector_all(
            "a, button, input, summary, [tabindex='0']", "all => all.filter(one => one.checkVisibility()).length"
        )
        assert len(names) == wanted
        assert "button Resume updates" in names
        assert "summary The windows as a table" in names


def test_screen_readers_get_the_same_from_the_picture_and_the_tables(browser: Browser, served: Served) -> None:
    with eyes(browser) as person:
        person.open(served.pipeline).page.click("#tide-table summary")
        assert "1 is idle" in person.say("#tide-table")
        for name in person.page.eval_on_selector_all(
            "svg[role=img]", "all => all.map(one => one.textContent + one.ariaLabel)"
        ):
            assert name


def test_updates_appear_without_a_reload_and_open_elements_stay_open(browser: Browser, tmp_path: Path) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1))
    with serving(tmp_path) as page, eyes(browser) as person:
        person.open(page.pipeline).page.click("#traffic-table summary")
        person.page.focus("#tide-table summary")
        site.batch(Event(2, "bob"), Event(11))
        expect(person.page.locator("#ledger")).to_contain_text("batch 2")
        expect(person.page.locator("#top-user_id")).to_contain_text("bob")
        assert person.page.is_visible("#traffic-table table")
        assert person.page.evaluate("document.activeElement.innerText") == "The partitions as a table"
        assert person.complaints == []


def test_updates_can_be_stopped_and_go_on(browser: Browser, tmp_path: Path) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1))
    with serving(tmp_path) as page, eyes(browser) as person:
        asked = list[str]()
        person.page.clock.install()
        person.open(page.pipeline).page.click("#pause")
        assert person.say("#updates") == "Updates are paused."
        person.page.on("request", lambda request: asked.append(request.url))
        site.batch(Event(2, "bob"))
        person.page.clock.run_for(60_000)
        assert asked == []
        person.page.click("#pause")
        person.page.clock.run_for(2000)
        expect(person.page.locator("#top-user_id")).to_contain_text("bob")


def test_a_warehouse_that_comes_to_be_is_shown_without_a_reload(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as page, eyes(browser, PHONE, "dark") as person:
        person.open(page.pipeline)
        assert "There is no ledger in" in person.say("#now")
        assert person.barriers() == []
        Site(tmp_path, PAGE_VIEWS_ALONE).open()
        expect(person.page.locator("#watermark")).to_contain_text("No event was read yet")


def test_a_page_that_is_gone_says_since_when(browser: Browser, tmp_path: Path) -> None:
    Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1))
    port = free_port()
    with eyes(browser) as person:
        with serving(tmp_path, port=port) as page:
            person.open(page.pipeline)
        expect(person.page.locator("#updates")).to_contain_text("The dashboard has not answered since")
        with serving(tmp_path, port=port):
            expect(person.page.locator("#updates")).to_have_text("")


@pytest.mark.parametrize("path", drawn([*PATHS.values()], 3), ids=PATHS)
def test_without_javascript_there_is_as_much_to_see(browser: Browser, served: Served, path: str) -> None:
    with eyes(browser, script=False) as without, eyes(browser) as person:
        without.open(served.address + path)
        person.open(served.address + path).page.click("#pause")
        assert _ageless(without.say("main")) == _ageless(person.say("main"))
        assert without.page.is_hidden("#live")


def _ageless(said: str) -> str:
    """Without what the clock moves."""
    return said.split("Nothing was committed", maxsplit=1)[0] + said.rsplit("since 2024", maxsplit=1)[-1]


def test_a_user_who_means_harm_is_text(browser: Browser, served: Served) -> None:
    with eyes(browser) as person:
        person.open(f"{served.address}/users?{urlencode({'id': EVIL})}")
        assert "<script>document.title" in person.say("h1")
        assert person.page.title() != "taken"


def test_the_token_is_asked_once(browser: Browser, tmp_path: Path) -> None:
    story(tmp_path)
    with serving(tmp_path, "correct-horse-battery") as page, eyes(browser, PHONE) as person:
        person.open(page.pipeline)
        assert person.barriers() == []
        person.page.fill("#token", "correct-horse-battery")
        person.page.keyboard.press("Enter")
        person.page.click("text=Pipeline")
        expect(person.page.locator("#watermark")).to_be_visible()
        person.page.click("text=dead letters >> nth=0")
        expect(person.page.locator("h1")).to_have_text("Dead letters")
