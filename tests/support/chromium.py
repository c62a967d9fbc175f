"""A real Chromium, that of this machine; Playwright only drives it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.support.waiting import PATIENCE_S

_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
"""The agent of a person's browser; without a window it would be a robot's."""
_PATIENCE_MS = PATIENCE_S * 1000
_NAMES = ("chromium", "chromium-browser", "google-chrome")

expect.set_options(timeout=_PATIENCE_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser without a window. Skips the test if Chromium is missing."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium here; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        # Its sandbox wants a user who is not root, or rights that a container has not.
        args = ["--no-sandbox", f"--user-agent={_AGENT}"]
        browser = playwright.chromium.launch(executable_path=found, args=args, timeout=_PATIENCE_MS)
        yield browser
        browser.close()


@contextmanager
def window(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """Yields a new window with Playwright's `options`. Its waits fail only if something hangs."""
    context = browser.new_context(**options)
    context.set_default_timeout(_PATIENCE_MS)
    yield context
    context.close()
