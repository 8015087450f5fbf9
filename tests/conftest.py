"""What all tests share: browser tests run last, and whoever lacks a browser is told so loudly."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

import pytest

CANDIDATES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium() -> str | None:
    """A Chromium on this machine: ``TENSORVIZ_CHROMIUM`` if set, otherwise the first known name on the path."""
    named = os.environ.get("TENSORVIZ_CHROMIUM")
    if named:
        return named if Path(named).is_file() else None
    return next((found for name in CANDIDATES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium. Without one, tests marked ``browser`` are skipped before they get here, except where CI is set."""
    path = find_chromium()
    if path is None:
        pytest.fail("no Chromium found, and CI is set: a green run must mean that the browser tests ran")
    return path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--redraw", action="store_true", help="write the README's pictures anew instead of comparing them")


@pytest.hookimpl(trylast=True)  # when it is known what runs
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # A live Playwright holds an event loop in this thread, which would disturb any other test that runs one. It also
    # puts the quick failures first. Of each kind the long files come first, so that the processes end together.
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    items.sort(key=lambda item: (item.get_closest_marker("browser") is not None, -toil(files[item.path]), item.path))
    if find_chromium() is not None:
        return
    browser = [item for item in items if item.get_closest_marker("browser")]
    config.stash[missing] = len(browser)
    if os.environ.get("CI"):
        return  # the fixture above fails them
    for item in browser:
        item.add_marker(pytest.mark.skip(reason="no Chromium found"))


A_NOTEBOOK = 8
"""Opening one takes about as long as this many tests of a page."""


def toil(items: list[pytest.Item]) -> int:
    """How much work a file is, in tests: notebooks that its tests open count for more."""
    own = sum("open_notebook" in item.fixturenames for item in items)
    shared = any("shared_notebook" in item.fixturenames for item in items)
    return len(items) + A_NOTEBOOK * (own + shared)


def pytest_collection_finish() -> None:
    # A million objects of pytest and of the imports stay to the end. Each search for cycles, of which tests ask for many, would go through them.
    gc.collect()
    gc.freeze()


missing = pytest.StashKey[int]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    count = config.stash.get(missing, 0)
    if count:
        terminalreporter.section("BROWSER TESTS DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.line(
            f"{count} tests need Chromium and none was found. Install one (Debian: apt-get install chromium) "
            "or set TENSORVIZ_CHROMIUM to its path. What a user sees has NOT been tested.",
            red=True,
        )
