"""The browser that tests, benchmarks and pictures open the tab in: the Chromium or Chrome that is here."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: No sandbox, because a container's root has none; the rest keeps the browser itself off the network.
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def program() -> str | None:
    """The program that CHROMIUM names, or the first on PATH; None where there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


@contextlib.contextmanager
def browser(*flags: str) -> Iterator[Browser]:
    """A headless browser, until the block ends. SystemExit where there is none. flags: further ones for Chromium."""
    found = program()
    if found is None:
        sys.exit("No Chromium or Chrome is here. Install one, or name it in CHROMIUM.")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=[*_FLAGS, *flags])
        try:
            yield opened
        finally:
            opened.close()
