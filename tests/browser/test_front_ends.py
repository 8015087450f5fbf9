"""Front ends that the everyday tests do without: Voila and marimo, each run for real."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Error, Locator, Page, expect

from browser.book import wait_until
from browser.conftest import PATIENCE

pytestmark = pytest.mark.slow

PASS = """import numpy as np
import tensorviz as tv
X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
L = np.sum((X + b) ** 2)
"""


@pytest.fixture
def serve(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """``serve(module, *arguments, path=, color_scheme=)``: a server of its own, and its page."""
    running: list[subprocess.Popen[bytes]] = []

    def start(module: str, *arguments: str, path: str = "", color_scheme: str = "light") -> Page:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        home = {"IPYTHONDIR": str(tmp_path / "ipython"), "JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
        with (tmp_path / "server.log").open("wb") as log:
            command = [sys.executable, "-m", module, *arguments, f"--port={port}"]
            running.append(
                subprocess.Popen(
                    command, cwd=tmp_path, env=os.environ | home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            )
        base = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            assert running[-1].poll() is None, (tmp_path / "server.log").read_text()
            try:
                with urllib.request.urlopen(base, timeout=60):
                    return True
            except OSError:
                return False

        wait_until(answers, f"the {module} server")
        page = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=color_scheme).new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(base + path, wait_until="commit")
        return page

    yield start
    for process in running:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def steppers(page: Page, count: int) -> list[Locator]:
    """All steppers of a page, those in frames first. A page that still moves its outputs replaces their frames; then it is looked at again."""

    def found() -> list[Locator]:
        frames = sorted(page.frames, key=lambda frame: frame == page.main_frame)
        regions = [frame.get_by_role("region", name="Backward pass debugger") for frame in frames]
        try:
            return [region.nth(i) for region in regions for i in range(region.count())]
        except Error:
            if any(frame.is_detached() for frame in frames):
                return []
            raise

    def all_of_them() -> list[Locator] | None:
        return shown if len(shown := found()) == count else None

    return wait_until(all_of_them, f"{count} steppers")


def step(stepper: Locator) -> None:
    """By key and by button, one step each; the key first, since right after scrolling a click may still meet the frame that was there before."""
    before = int(stepper.get_attribute("data-step") or 0)
    stepper.press("ArrowRight")
    expect(stepper).to_have_attribute("data-step", str(before + 1))
    stepper.get_by_role("button", name="Next step").click()
    expect(stepper).to_have_attribute("data-step", str(before + 2))
    expect(stepper.get_by_role("status")).to_contain_text(f"{before + 3} of 11")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_in_voila_frames_are_live_and_widgets_step_in_the_pages_colours(serve, tmp_path, theme):
    cells = [PASS + "L.backward()", "stepper = L.trace.show(step=3)\nstepper", "import ipywidgets\nipywidgets.VBox([L.trace.show(step=2)])"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells], metadata={"kernelspec": kernel})
    nbformat.write(book, tmp_path / "book.ipynb")
    page = serve(
        "voila", "book.ipynb", "--no-browser", "--Voila.ip=127.0.0.1", path=f"/?theme={theme}", color_scheme="dark" if theme == "light" else "light"
    )
    shown = steppers(page, 3)
    for stepper in shown:
        step(stepper)
        expect(stepper).to_have_attribute("data-scheme", theme)
    for stepper in shown[:2]:
        expect(stepper.locator(".tv-link")).to_have_text("live")
    assert not page.get_by_text("Trust this notebook").first.is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_in_marimo_a_trace_opens_the_stepper_in_the_pages_colours_and_python_hears_the_step(serve, tmp_path, theme):
    cells = {
        "": PASS + "trace = L.backward()\ntrace",
        "trace": "import marimo as mo\nwidget = mo.ui.anywidget(trace.show(step=3))\nwidget",
        "widget": "mo.md(f'at {widget.step}, {trace.nodes[2].label}: {trace.nodes[2].source.expression}')",
        "trace ": "trace.with_bug('overwrite')",
    }
    text = f'# /// script\n# [tool.marimo.display]\n# theme = "{theme}"\n# ///\nimport marimo\n\napp = marimo.App(width="full")\n'
    for needed, code in cells.items():
        body = "".join(f"    {line}\n" for line in code.splitlines())
        names = ", ".join(name for name in ("trace", "widget", "mo") if f"{name} = " in code or f"as {name}" in code)
        taken = "trace, widget, mo" if needed == "widget" else needed.strip()
        text += f"\n\n@app.cell\ndef _({taken}):\n{body}    return {f'({names},)' if names else ''}\n"
    (tmp_path / "book.py").write_text(text + '\n\nif __name__ == "__main__":\n    app.run()\n')
    page = serve("marimo", "run", "book.py", "--headless", "--host=127.0.0.1", color_scheme="dark" if theme == "light" else "light")
    shown = steppers(page, 4)
    for stepper in shown[2:]:
        expect(stepper).to_have_attribute("data-scheme", theme)
        step(stepper)
    step(shown[0])
    expect(shown[1]).to_have_attribute("data-step", "2")
    expect(page.get_by_text("at 5, +: X + b")).to_be_visible()
    assert not page.get_by_text("Trust this notebook").first.is_visible()
