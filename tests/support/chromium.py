"""A real Chromium, that of this machine; Playwright only drives it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
"""The agent of a person's browser; without a window it would be a robot's."""
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser without a window. Skips the test if Chromium is missing."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium here; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        # Its sandbox wants a user who is not root, or rights that a container has not.
        args = ["--no-sandbox", f"--user-agent={_AGENT}"]
        browser = playwright.chromium.launch(executable_path=found, args=args)
        yield browser
        browser.close()
