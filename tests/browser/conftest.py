"""Fixtures for tests in a real Chromium. Every page must end without console errors and without a request to anywhere else."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from browser.book import App, Book, Server, Watch
from tensorviz.trace import Trace

FLAGS = [
    "--no-sandbox",  # containers run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",  # /dev/shm is small in containers
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    # Nothing but this machine has an address: a page that asks a CDN fails here as it would on a train.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[App], Server]]:
    """One server an application, started when first asked for."""
    running: dict[App, Server] = {}

    def get(app: App) -> Server:
        if app not in running:
            running[app] = Server(app, tmp_path_factory.mktemp(app)).start()
        return running[app]

    yield get
    for server in running.values():
        server.stop()


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Callable[[App], Server]]:
    """A server that no other test has used: another machine, as far as trust is concerned."""
    running: list[Server] = []

    def start(app: App = "lab") -> Server:
        running.append(Server(app, tmp_path / f"server{len(running)}").start())
        return running[-1]

    yield start
    for server in running:
        server.stop()


OpenNotebook = Callable[..., Book]

PATIENCE = 45_000
"""Milliseconds a click or an expectation may wait: many times what it takes, so that a busy machine fails no test."""

expect.set_options(timeout=PATIENCE)


@contextmanager
def notebooks(browser: Browser, servers: Callable[[App], Server], name: str) -> Iterator[OpenNotebook]:
    """A function that opens notebooks; at the end every page is checked for complaints and its kernel ended."""
    opened: list[Book] = []
    slug = re.sub(r"\W+", "-", name).strip("-")

    def open_(
        what: Sequence[str] | Path,
        *,
        app: App = "lab",
        server: Server | None = None,
        kernel: bool = True,
        width: int = 1280,
        height: int = 900,
        color_scheme: Literal["light", "dark"] = "light",
    ) -> Book:
        where = server or servers(app)
        shutil.rmtree(where.home / "settings", ignore_errors=True)  # a theme that the test before has chosen
        if isinstance(what, Path):
            name = what.name
            if what.parent != where.root:
                name = f"{slug}-{len(opened)}.ipynb"
                (where.root / name).write_bytes(what.read_bytes())
                data = what.parent / "data"
                if data.is_dir():
                    shutil.copytree(data, where.root / "data", dirs_exist_ok=True)
        else:
            name = where.write(f"{slug}-{len(opened)}.ipynb", what).name
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=color_scheme)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        watch = Watch(page, (where.base, where.base.replace("http", "ws", 1)))
        book = Book(where, context, page, watch, name)
        opened.append(book)
        page.goto(where.url(name))
        book.wait_ready(kernel)
        return book

    try:
        yield open_
    finally:
        for book in opened:
            book.close()
    for book in opened:
        book.watch.verify()


@pytest.fixture
def open_notebook(browser: Browser, servers: Callable[[App], Server], request: pytest.FixtureRequest) -> Iterator[OpenNotebook]:
    """``open_notebook(["code", ...])`` or ``open_notebook(path)``, with ``app="notebook"`` for Notebook 7."""
    with notebooks(browser, servers, request.node.name) as open_:
        yield open_


@pytest.fixture(scope="module")
def shared_notebook(browser: Browser, servers: Callable[[App], Server], request: pytest.FixtureRequest) -> Iterator[OpenNotebook]:
    """The same for a notebook that a whole file of tests reads, opened and run once."""
    with notebooks(browser, servers, Path(request.node.name).stem) as open_:
        yield open_


@pytest.fixture(scope="module")
def book_of_the_file(shared_notebook: OpenNotebook) -> Book:
    return shared_notebook([""])


@pytest.fixture
def one_notebook(book_of_the_file: Book) -> Iterator[Callable[[Sequence[str]], Book]]:
    """``one_notebook(["code", ...])``: the notebook and the kernel that a file's tests share, with these cells instead of those before."""

    def write(cells: Sequence[str]) -> Book:
        book_of_the_file.start_kernel()  # if a test before has shut it down
        book_of_the_file.write(cells)
        return book_of_the_file

    yield write
    book_of_the_file.watch.verify()


@pytest.fixture(scope="session")
def offline(browser: Browser) -> Iterator[BrowserContext]:
    """What all pages from disk share: no network. They keep nothing, so a context each would only cost its process."""
    context = browser.new_context(offline=True)
    yield context
    context.close()


@pytest.fixture
def open_page(offline: BrowserContext) -> Iterator[Callable[[Path], Page]]:
    """``open_page(path)``: a file opened from disk with the network off, under the same watch."""
    opened: list[tuple[Page, Watch]] = []

    def open_(path: Path, *, width: int = 1280, height: int = 900, color_scheme: Literal["light", "dark"] = "light") -> Page:
        page = offline.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=color_scheme)
        page.set_default_timeout(PATIENCE)
        opened.append((page, Watch(page, ("file:",))))
        page.goto(path.resolve().as_uri())
        return page

    yield open_
    for page, watch in opened:
        page.close()
        watch.verify()


@pytest.fixture
def show(open_page, tmp_path):
    """``show(trace, step=..., theme=..., width=...)``: the trace's page, open; gives the stepper by its accessible name."""
    count = 0

    def show_(trace: Trace, *, width: int = 1280, color_scheme: str = "light", **options) -> Locator:
        nonlocal count
        count += 1
        path = tmp_path / f"page{count}.html"
        trace.to_html(path, **options)
        page: Page = open_page(path, width=width, color_scheme=color_scheme)
        stepper = page.get_by_role("region", name="Backward pass debugger")
        expect(stepper.get_by_role("status").first).not_to_be_empty()  # it is filled
        return stepper

    return show_
