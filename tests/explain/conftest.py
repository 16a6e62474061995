"""Pages in a real browser, for all tests of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gsina.explain.page import PageGraph, write_page
from gsina.ops.budget import Budget
from page_cases import RATIO, TAU, settle

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; where it is missing the tests are skipped, or fail if they are asked for."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path, reason = None, "needs playwright, which is not installed"
    else:
        reason = "needs Chromium, which is not installed"
    if path is None:
        if os.environ.get("CI") == "true" and os.environ.get("GSINA_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Write a page and open it; at the end, no error and no request may have been seen."""
    complaints: list[str] = []
    opened = []

    def show(
        graphs: list[PageGraph], *, dark: bool = False, width: int = 1200, **given: Any
    ) -> Any:
        path = tmp_path / "page.html"
        settings = {"title": "A page", "budget": Budget(share=RATIO), "temperature": TAU, **given}
        write_page(path, graphs, **settings)
        page = browser.new_page(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
        )
        opened.append(page)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: line.type == "error" and complaints.append(line.text))
        page.on(
            "request",
            lambda ask: ask.url.startswith("file:") or complaints.append(f"asked for {ask.url}"),
        )
        page.goto(path.as_uri())
        settle(page)
        return page

    yield show
    for page in opened:
        page.close()
    assert complaints == []
