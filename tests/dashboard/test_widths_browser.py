"""Long values on every page: no column is cut off on a laptop, and on a phone the state of each row is in sight."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.dashboard.eyes import PHONE, Eyes, eyes
from tests.dashboard.long_values import DAY, PAGES, REPORTS, USERS, long_values
from tests.dashboard.scene import serving
from tests.support.chromium import chromium
from tidemark.pipeline.cli import main

pytestmark = pytest.mark.slow
LAPTOP = 1280
PATHS = {
    "visitors": f"/?period={DAY}..{DAY}",
    "overview": "/pipeline",
    **{report.name: f"/reports/{report.name}" for report in REPORTS},
    "user": f"/users?{urlencode({'id': USERS[0]})}",
    "page": f"/pages?{urlencode({'url': PAGES[1]})}",
    "letters": "/dead-letters",
}
STATES = ("state", "reason")
_SHORTENED_AND_WHOLE = """(all) => {
  const isShortened = (one) => one.scrollHeight > one.clientHeight || one.textContent.endsWith("\u2026");
  return [all.filter(isShortened).map((one) => one.title),
    all.filter((one) => !isShortened(one)).map((one) => one.textContent)];
}"""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the warehouse of `long_values`."""
    folder = tmp_path_factory.mktemp("long_values")
    long_values(folder)
    return folder


@pytest.fixture(scope="module")
def address(warehouse: Path) -> Iterator[str]:
    """Yields the address of the page of `warehouse`."""
    with serving(warehouse) as page:
        yield page.address


@pytest.fixture(scope="module")
def person() -> Iterator[Eyes]:
    """Yields one window for all pages, because opening a window takes as long as opening a page."""
    with chromium() as browser, eyes(browser, LAPTOP) as found:
        yield found


def open_at(person: Eyes, address: str) -> None:
    """Opens a page at the width of a laptop, with all that it can show."""
    person.resize(LAPTOP)
    person.open(address)
    person.page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")


def assert_all_in_sight(person: Eyes) -> None:
    """Asserts that no column is cut off at either width, and that rows with states show them."""
    for width in (LAPTOP, PHONE):
        person.resize(width)
        in_sight, out_of_sight = person.states(*STATES)
        assert out_of_sight == []
        assert in_sight
        assert person.cut_off() == []
        assert person.overflow() <= 0
    assert person.page.locator("rect.bar[x^='-']").count() == 0, "a bar starts outside of its picture"


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_no_column_is_cut_off_and_each_state_is_in_sight(person: Eyes, address: str, path: str) -> None:
    open_at(person, address + path)
    assert_all_in_sight(person)


def test_the_file_of_a_day_cuts_no_column_off(person: Eyes, warehouse: Path, tmp_path: Path) -> None:
    file = tmp_path / "day.html"
    assert main(["report", "--warehouse", str(warehouse), "--day", DAY, "--output", str(file)]) == 0
    open_at(person, file.as_uri())
    assert_all_in_sight(person)


def test_rows_with_more_columns_than_a_screen_has_room_for_are_accessible(person: Eyes, address: str) -> None:
    open_at(person, f"{address}/reports/visitors_by_page_and_kind")
    assert person.barriers() == []
    assert person.page.locator("#rows thead").is_hidden()


def test_a_text_that_is_shortened_has_its_whole_value_in_a_title(person: Eyes, address: str) -> None:
    open_at(person, f"{address}/reports/sessions")
    shortened, whole = person.page.locator("#rows td bdi").evaluate_all(_SHORTENED_AND_WHOLE)
    assert {*PAGES[1:]} <= {*shortened} <= {*PAGES}  # a narrow font may leave room for the first
    assert {*whole} & {*USERS}
    assert {*whole} <= {*USERS, *PAGES}
