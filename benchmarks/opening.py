"""How long a trace takes to open: from running ``loss.backward()`` in a cell of JupyterLab to a stepper that steps.

    python benchmarks/opening.py [NODES ...] [--rounds 7] [--chain]

Starts JupyterLab on loopback (as the browser tests do; needs the extras ``lab`` and ``test``, and Chromium at ``TENSORVIZ_CHROMIUM`` or
``/usr/bin/chromium``), runs one small trace to warm the kernel up, then builds a graph in one cell and runs ``loss.backward()`` in the next. The clock
runs from the command to the second step on the screen, after a click on *Next step*. Beside the median stand what the kernel computed (the cell's output),
what the output weighs, and what a further step takes. Large graphs are run three times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from browser.book import Book, Server, Watch

GRID = """
import numpy as np, tensorviz as tv
def graph(nodes, width=10):
    rng = np.random.default_rng(0)
    xs = [tv.tensor(rng.normal(size=3), requires_grad=True, name=f"x{i}") for i in range(width)]
    for layer in range(max(1, nodes // (2 * width) - 1)):
        xs = [np.tanh(xs[i] * xs[(i + 1 + layer % 3) % width]) for i in range(width)]
    return sum(xs).sum()
"""
CHAIN = """
import tensorviz as tv
def graph(nodes):
    a, b = tv.tensor(0.5, requires_grad=True), tv.tensor(2 / nodes, requires_grad=True)
    for _ in range(nodes // 2):
        a = a * b + a
    return a
"""
PATIENCE = 600_000
"""Milliseconds after which something is broken and not slow."""


def opened(book: Book, cell: int) -> tuple[float, float]:
    """Seconds until a fresh output of a cell has taken its first step, and of one step more."""
    page = book.page
    book.page.evaluate("i => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = i; }", cell)
    book.command("notebook:clear-cell-output")
    start = time.perf_counter()
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-cell'); }")
    stepper = page.locator("iframe").first.content_frame.get_by_role("region", name="Backward pass debugger")
    following = stepper.get_by_role("button", name="Next step")
    status = stepper.get_by_role("status")
    following.click(timeout=PATIENCE)
    expect(status).to_contain_text("Step 2 of", timeout=PATIENCE)
    ready = time.perf_counter()
    following.click()
    expect(status).to_contain_text("Step 3 of", timeout=PATIENCE)
    return ready - start, time.perf_counter() - ready


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds from loss.backward() in a cell to a stepper that steps.")
    parser.add_argument("nodes", nargs="*", type=int, default=[200, 2_000, 100_000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--chain", action="store_true", help="one long chain of numbers in place of layers of small arrays")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("  nodes    opens: median (least to most)   kernel: record, output   output   one step more")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server("lab", Path(folder)).start()
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("TENSORVIZ_CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            for nodes in options.nodes:
                build = CHAIN if options.chain else GRID
                name = server.write("opening.ipynb", [build, "graph(20).backward()", f"loss = graph({nodes})", "loss.backward()"]).name
                context = browser.new_context(viewport={"width": 1280, "height": 900})
                page = context.new_page()
                book = Book(server, context, page, Watch(page, (server.base,)), name)
                page.goto(server.url(name))
                book.wait_ready()
                for cell in (0, 1, 2):
                    book.run(cell)
                book.page.locator("iframe").first.content_frame.locator("body[data-ready]").wait_for(timeout=PATIENCE)
                book.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }")
                book.command("notebook:clear-cell-output")
                took = [opened(book, 3) for _ in range(options.rounds if nodes <= 10_000 else 3)]
                told = book.python(
                    "import time; t = loss.backward(); a = time.perf_counter(); t.nodes; b = time.perf_counter()\n"
                    "m = t._repr_mimebundle_(); print(f'{b - a:.2f} {time.perf_counter() - b:.2f} {sum(map(len, m.values()))}')"
                ).split()
                whole = [seconds for seconds, _ in took]
                print(
                    f"{nodes:7,}    {statistics.median(whole):8.2f} s ({min(whole):.2f} to {max(whole):.2f}) {told[0]:>14} s, {told[1]} s"
                    f" {int(told[2]) / 1e6:9.2f} MB {1000 * statistics.median(step for _, step in took):9.0f} ms",
                    flush=True,
                )
                with suppress(Exception):
                    book.close()
        finally:
            browser.close()
            server.stop()
    print(f"load {os.getloadavg()[0]:.1f} afterwards")


if __name__ == "__main__":
    main()
