"""A real browser for the tests: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def why_not() -> str | None:
    """Return what is missing for a browser to run here, or None."""
    for package in ("playwright", "axe_playwright_python"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed (pip install playwright axe-playwright-python)"
    if _program() is None:
        return "Chromium is not installed (apt-get install chromium)"
    return None


@contextmanager
def running_browser() -> Iterator[Any]:
    """Start Chromium without a window, yield it, stop it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Its own sandbox needs rights that root in a container does not have; it visits our own pages only.
        browser = playwright.chromium.launch(executable_path=_program(), chromium_sandbox=False, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def _program() -> str | None:
    return next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
