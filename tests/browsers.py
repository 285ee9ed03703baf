"""The Chromium of the system, for tests that open pages in it."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest

playwright = pytest.importorskip("playwright.sync_api")

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason=f"no {', '.join(_NAMES)} is installed")


@contextmanager
def launched_browser():
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # for whom Chromium has no sandbox
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if is_root else []
        )
        yield launched
        launched.close()
