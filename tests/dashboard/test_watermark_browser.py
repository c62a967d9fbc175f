"""The picture of the watermark in a real Chromium: wherever clock and watermark are, its texts are legible."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.dashboard.eyes import DESK, PHONE, eyes
from tests.dashboard.scene import serving
from tests.dashboard.test_formats_browser import overlapping
from tests.support.chromium import chromium
from tests.verify.site import MINUTE, NOON, PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.instants import now_ms

pytestmark = [pytest.mark.slow, pytest.mark.long]
CLOCKS = {
    "at the newest event": 0.0,
    "later, on the axis": 0.3,
    "later": 3.0,
    "much later": 300.0,
    "earlier, on the axis": -0.2,
    "earlier": -1.0,
    "much earlier": -30_000.0,
}
"""By how many minutes the clock is later than the newest event."""
CROSSED = """all => all.flatMap((text) => {
  const box = text.getBoundingClientRect();
  const lines = [...document.querySelectorAll(".tide line.watermark, .tide line.clock")];
  return lines.filter((line) => {
    const at = line.getBoundingClientRect();
    const isAfter = text.compareDocumentPosition(line) & Node.DOCUMENT_POSITION_FOLLOWING;
    return isAfter && at.left < box.right && box.left < at.right && at.top < box.bottom && box.top < at.bottom;
  }).map((line) => [text.textContent, line.getAttribute("class")]);
})"""
OUTSIDE = """all => all.filter((text) => {
  const box = text.getBoundingClientRect(), frame = text.ownerSVGElement.getBoundingClientRect();
  return box.left < frame.left - 1 || box.right > frame.right + 1;
}).map((text) => text.textContent)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.mark.parametrize("later", CLOCKS.values(), ids=CLOCKS)
def test_no_line_crosses_a_text_and_no_text_another(browser: Browser, tmp_path: Path, later: float) -> None:
    now = now_ms()
    newest = (now - NOON) / MINUTE - later
    silent = {1: now - 90 * MINUTE, 2: None}
    site = Site(tmp_path, PAGE_VIEWS_ALONE, committed_at=now, silent=silent).open()
    site.batch(Event(newest - 12), Event(newest - 11, "bob")).batch(Event(newest))
    with serving(tmp_path) as page:
        for width in (PHONE, DESK):
            with eyes(browser, width) as person:
                person.open(page.pipeline)
                assert person.page.locator(".tide text.clock").count() == 1
                assert person.page.eval_on_selector_all(".tide text", CROSSED) == []
                assert person.page.eval_on_selector_all(".tide text:not(.tick)", OUTSIDE) == []
                assert overlapping(person, ".tide text") == []
