"""A real Chromium, that of this machine; Playwright only drives it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser without a window. Skips the test if Chromium is missing."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium here; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        # Its sandbox wants a user who is not root, or rights that a container has not.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()
