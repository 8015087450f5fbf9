"""A JupyterLite site of lessons: what it holds, and that it works in a browser that reaches nothing but the site."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import pytest
from jupyterlite_pyodide_kernel.constants import PYODIDE_CDN_URL
from playwright.sync_api import Browser, Page, expect

from browser.book import Watch, wait_until
from browser.pyodide import make
from tensorviz.site.build import build_site

pytestmark = pytest.mark.slow

STEPPER = "import tensorviz as tv\nx = tv.tensor(3.0, requires_grad=True)\ny = x * x\ny.backward()"
ASK = """\
import importlib.metadata
import anywidget, graphviz, ipywidgets, psygnal
print(importlib.metadata.version("tensorviz-backward"))
try:
    import tensorviz
except ModuleNotFoundError as missing:
    print("only", missing.name, "is missing")
"""
KERNEL_MINUTES = 3 * 60_000
"""Milliseconds for Python to start in the browser and install; half a minute on two idle cores."""


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One site that leaves Python to Pyodide's makers, one that brings it along."""
    if shutil.which("npm") is None:
        assert "CI" not in os.environ, "npm brings the core of Pyodide, and CI is set"
        pytest.skip("npm brings the core of Pyodide, and there is none")
    place = tmp_path_factory.mktemp("lite")
    lessons = place / "lessons"
    (lessons / "data").mkdir(parents=True)
    (lessons / "data" / "numbers.csv").write_text("1,2\n")
    for name, title, code in (("squares", "# Squares", STEPPER), ("ask", "# Ask", "None")):
        nbformat.write(
            nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(title), nbformat.v4.new_code_cell(code)]), lessons / f"{name}.ipynb"
        )
    build_site(lessons, place / "plain", lite=True)
    build_site(lessons, place / "whole", lite=True, pyodide=str(make(place)))
    return place / "plain", place / "whole"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """The address of every file is nobody's concern."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def open_site(browser: Browser) -> Iterator[Callable[[Path], tuple[Page, Watch, str]]]:
    """``open_site(folder)``: a page at the folder's index, its watch, and the address."""
    closing: list[Callable[[], object]] = []

    def open_(folder: Path) -> tuple[Page, Watch, str]:
        serving = served(folder)
        base = serving.__enter__()
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(KERNEL_MINUTES)
        closing.extend((context.close, lambda: serving.__exit__(None, None, None)))
        page.goto(f"{base}/index.html")
        return page, Watch(page, (base,)), base

    yield open_
    for close in closing:
        close()


def test_every_wheel_is_listed_with_its_hash_and_every_lesson_with_what_it_reads(sites):
    lite = sites[0] / "lite"
    listed = {
        file["filename"]: file["digests"]["sha256"]
        for project in json.loads((lite / "pypi" / "all.json").read_text()).values()
        for release in project["releases"].values()
        for file in release
    }
    assert listed == {wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in (lite / "pypi").glob("*.whl")}
    assert {name.split("-")[0] for name in listed} == {
        "tensorviz_backward",
        "ipywidgets",
        "anywidget",
        "psygnal",
        "graphviz",
        "comm",
        "jupyterlab_widgets",
    }
    assert {entry["name"] for entry in json.loads((lite / "api" / "contents" / "all.json").read_text())["content"]} == {
        "squares.ipynb",
        "ask.ipynb",
        "data",
    }
    assert (lite / "files" / "data" / "numbers.csv").read_text() == "1,2\n"
    assert "data-tensorviz" in (lite / "files" / "squares.ipynb").read_text()


def test_the_site_carries_its_own_kernel_and_what_shows_widgets_and_nothing_else_of_the_machine(sites):
    config = json.loads((sites[0] / "lite" / "jupyter-lite.json").read_text())["jupyter-config-data"]
    names = {extension["name"] for extension in config["federated_extensions"]}
    assert names == {"@jupyterlite/pyodide-kernel-extension", "@jupyter-widgets/jupyterlab-manager", "anywidget"}
    kernel = config["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["disablePyPIFallback"] is True and "pyodideUrl" not in kernel
    assert all(url.startswith("./") for url in kernel["pipliteUrls"])


def test_a_saved_stepper_steps_and_the_only_other_address_is_that_of_pyodide(sites, open_site):
    page, watch, _ = open_site(sites[0])
    page.get_by_role("link", name="Squares").click()
    page.get_by_role("link", name="Edit and run").click()
    inner = page.locator("iframe.tensorviz-frame").content_frame
    inner.get_by_role("button", name="Next step").click()
    expect(inner.get_by_role("region", name="Backward pass debugger")).to_have_attribute("data-step", "1")
    # asking for the title lets Playwright hear what the page has asked for
    wait_until(lambda: page.title() and watch.foreign, "a request for Python")
    assert [url for url in watch.foreign if not url.startswith(f"{PYODIDE_CDN_URL}/")] == []


def test_python_starts_in_the_browser_and_installs_the_wheels_of_the_site_with_no_other_address(sites, open_site):
    page, watch, base = open_site(sites[1])
    watch.allow("numpy", "Failed to fetch")  # the one wheel that neither npm nor the package index has
    page.goto(f"{base}/lite/notebooks/index.html?path=ask.ipynb")
    install, ask = page.locator(".jp-CodeCell").nth(0), page.locator(".jp-CodeCell").nth(1)
    ask.get_by_role("textbox").fill(ASK)
    install.get_by_role("textbox").click()
    for _ in range(3):
        page.keyboard.press("Shift+Enter")
    expect(ask.locator(".jp-OutputArea-output")).to_contain_text("only numpy is missing", timeout=KERNEL_MINUTES)
    expect(install.locator(".jp-OutputArea-output")).to_have_count(0)
    watch.verify()
