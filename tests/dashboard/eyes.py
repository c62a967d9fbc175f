"""A person at a browser: what it complains of, whether it all fits, and what a screen reader would miss."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.support.chromium import window
from tidemark.pipeline.web.dashboard.shared_views import READ_AGAIN

PHONE = 390
DESK = 1200
_HEIGHT = 900
Scheme = Literal["light", "dark"]


@dataclass
class Eyes:
    """An open page, and the errors that its browser logged."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def open(self, address: str) -> "Eyes":
        """Opens `address`, again until the tables have been read."""
        while True:
            answer = self.page.goto(address)
            is_late = answer is not None and "retry-after" in answer.headers
            if not is_late and READ_AGAIN not in self.page.content():
                return self

    def barriers(self) -> list[str]:
        """Returns rule and element of each violation that axe reports of WCAG 2.2 AA and best practices."""
        found: dict[str, Any] = Axe().run(self.page).response
        return [f"{one['id']}: {node['html'][:200]}" for one in found["violations"] for node in one["nodes"]]

    def overflow(self) -> int:
        """Returns how many pixels the page is wider than its window, once its style is loaded."""
        self.page.wait_for_load_state("load")
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))

    def resize(self, width: int) -> None:
        """Makes the window `width` pixels wide."""
        self.page.set_viewport_size({"width": width, "height": _HEIGHT})
        assert self.page.evaluate("innerWidth") == width

    def cut_off(self) -> list[str]:
        """Returns the elements whose content is wider than they are by more than rounding, with both widths in pixels.

        Pictures, bytes, typed text and hidden headings are left out.
        """
        self.page.wait_for_load_state("load")
        return [str(element) for element in self.page.evaluate(_CUT_OFF)]

    def states(self, *columns: str) -> tuple[list[str], list[str]]:
        """Returns the cells of the tables' columns with one of these names: in sight without scrolling, and out."""
        self.page.wait_for_load_state("load")
        in_sight, out_of_sight = self.page.evaluate(_STATES, columns)
        return in_sight, out_of_sight

    def say(self, selector: str) -> str:
        """Returns the text of the element `selector`."""
        return " ".join(self.page.inner_text(selector).split())

    def press_through(self, most: int = 400) -> list[str]:
        """The elements that Tab comes to from the top, by their names, until it leaves the page."""
        names = list[str]()
        for _ in range(most):
            self.page.keyboard.press("Tab")
            name = self.page.evaluate(_NAME)
            if name is None:
                break
            names.append(str(name))
        return names


_NAME = """(() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const box = at.getBoundingClientRect(), style = getComputedStyle(at);
  const ring = style.outlineStyle !== "none" && box.width > 0 && box.height > 0;
  const name = (at.getAttribute("aria-label") || at.innerText || at.id).trim();
  return `${at.tagName.toLowerCase()} ${name}${ring ? "" : " UNSEEN"}`;
})()"""


_CUT_OFF = """[...document.querySelectorAll("body, body *")]
  .filter((one) => !one.closest("svg, pre, input, thead, .hidden, .quiet-heading, .skip") && one.checkVisibility())
  .filter((one) => getComputedStyle(one).display !== "inline" && one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.closest("section")?.id} ${one.tagName} ${one.className} ${one.ariaLabel}: `
    + `${one.scrollWidth} > ${one.clientWidth}`)"""
_STATES = """(columns) => {
  const cells = [...document.querySelectorAll("table")].flatMap((table) => {
    const index = [...table.tHead.rows[0].cells].findIndex((head) => columns.includes(head.textContent));
    return index < 0 ? [] : [...table.tBodies[0].rows].map((row) => row.cells[index]);
  });
  const isInSight = (cell) => {
    const box = cell.getBoundingClientRect(), around = (cell.closest(".scroll") ?? cell).getBoundingClientRect();
    const right = Math.min(innerWidth, around.right);
    return box.width > 0 && box.left >= Math.max(0, around.left) && box.right <= right + 0.5;
  };
  const texts = (sought) => cells.filter((cell) => isInSight(cell) === sought).map((cell) => cell.textContent);
  return [texts(true), texts(false)];
}"""


@contextmanager
def eyes(browser: Browser, width: int = DESK, scheme: Scheme = "light", *, script: bool = True) -> Iterator[Eyes]:
    """A new window of a width, in a colour scheme; without JavaScript where it is switched off."""
    viewport = {"width": width, "height": _HEIGHT}
    with window(browser, viewport=viewport, color_scheme=scheme, java_script_enabled=script) as context:
        page = context.new_page()
        found = Eyes(page)
        page.on("console", lambda said: found.complaints.append(said.text) if _is_complaint(said) else None)
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        yield found


def _is_complaint(said: ConsoleMessage) -> bool:
    """Whether it is an error, but for a page that the tables are still read for."""
    return said.type in ("error", "warning") and "503 (Service Unavailable)" not in said.text
