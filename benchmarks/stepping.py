"""How long a step takes in the browser: marks, caption and inspector, on pictures of several sizes.

    python benchmarks/stepping.py [NODES ...]

Opens the offline page of a trace in Chromium (``TENSORVIZ_CHROMIUM`` or ``/usr/bin/chromium``; needs the extra ``test``), walks through 120 steps that this
page has not shown before, one a frame, jumps 60 times, and drags the slider over 500 steps. Percentiles are over steps. *Script + layout* is the handling of
the event and the drawing of all panes with a forced style and layout; *frame* is from the event, which comes when a frame has just been shown, until the next
one has been handed over, so that 17 ms is the least; *CPU* is what the page's main thread used in all for a step, painting and what is prepared for later
steps included. Every walk is made in three new pages: *least* takes of each
step the least of its three first visits, so that what else runs on the machine counts little; all other figures are of all visits. A browser rounds its clock
to 0.1 ms here. The *loop* of a million integer operations says how fast the machine is: divide by it to compare figures of two machines.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from playwright.sync_api import CDPSession, Page, sync_playwright

import tensorviz as tv
from tensorviz.trace import Trace
from tensorviz.views.svg import skeleton
from tensorviz.widgets import payload

PAGES = 3
WALK, JUMPS, DRAG = 120, 60, 500
LARGEST = 5_000
"""Nodes that are all drawn; the picture of a larger trace opens as users see it, with its groups closed and the neighbourhood of the step beside it."""

MEASURE = """async ({ from, walk, jumps, drag }) => {
  const root = document.querySelector('.tensorviz'), slider = root.querySelector('.tv-slider'), n = +slider.max;
  const original = (globalThis.original ??= requestAnimationFrame.bind(globalThis));
  const after = () => new Promise(r => original(() => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); }));
  let script = 0;
  const timed = async (f) => { const a = performance.now(); f(); await null; document.body.offsetHeight; script += performance.now() - a; };
  const go = (k) => { slider.value = k; return timed(() => slider.dispatchEvent(new Event('input'))); };
  globalThis.requestAnimationFrame = (f) => original((t) => timed(() => f(t)));
  const measure = async (list) => {
    const work = [], frame = [];
    for (const k of list) {
      await after();
      script = 0;
      const start = performance.now();
      await go(k);
      await after();
      frame.push(performance.now() - start);
      work.push(script);
    }
    return { work, frame };
  };
  if (walk) return measure(Array.from({ length: walk }, (_, i) => Math.max(1, Math.min(n, Math.floor(n / 2) + from + i))));
  if (jumps) return measure(Array.from({ length: jumps }, (_, i) => 1 + (i * 7919) % n));
  const count = Math.min(drag, n - 1), start = performance.now();
  for (let i = 0; i < count; i++) { await go(1 + i); if (i % 25 === 24) await new Promise(r => original(r)); }
  const last = performance.now();
  await after();
  return { drag: performance.now() - start, settle: performance.now() - last };
}"""

DRAWN = "new Set([...document.querySelectorAll('.tv-stage [data-node]')].map(node => node.dataset.node)).size"

LOOP = """() => {
  let least = Infinity;
  for (let turn = 0; turn < 20; turn++) {
    const start = performance.now();
    let sum = 0;
    for (let i = 0; i < 1e6; i++) sum = (sum * 31 + i) | 0;
    globalThis.sum = sum;
    least = Math.min(least, performance.now() - start);
  }
  return least;
}"""


def grid(nodes: int) -> Trace:
    """About so many nodes: layers of tanh over products of neighbours, small arrays, every node a fork."""
    width = 10
    rng = np.random.default_rng(0)
    xs = [tv.tensor(rng.normal(size=3), requires_grad=True, name=f"x{i}") for i in range(width)]
    total = None
    for layer in range(max(1, nodes // (2 * width) - 1)):
        xs = [np.tanh(xs[i] * xs[(i + 1 + layer % 3) % width]) for i in range(width)]
    for x in xs:
        total = x if total is None else total + x
    assert total is not None
    return total.sum().backward()


def cpu(session: CDPSession) -> float:
    """Seconds of the main thread so far."""
    return float(next(m["value"] for m in session.send("Performance.getMetrics")["metrics"] if m["name"] == "TaskDuration"))


def percentile(times: list[float], part: float) -> float:
    """The time, in ms, that this part of the steps does not exceed."""
    return sorted(times)[min(len(times) - 1, int(part * len(times)))]


def visit(page: Page, path: Path) -> dict[str, Any]:
    """What one new page measures, in ms."""
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    nothing = {"from": 0, "walk": 0, "jumps": 0, "drag": 0}
    page.evaluate(MEASURE, nothing | {"from": 1, "walk": 20})  # other steps, so that the script is compiled
    before = cpu(session)
    walked = page.evaluate(MEASURE, nothing | {"from": -WALK, "walk": WALK})
    found = {"visible": page.evaluate(DRAWN), "cpu": (cpu(session) - before) / WALK * 1000} | walked
    found["jumps"] = page.evaluate(MEASURE, nothing | {"jumps": JUMPS})
    return found | page.evaluate(MEASURE, nothing | {"drag": DRAG}) | {"loop": page.evaluate(LOOP)}


def measure(trace: Trace, shown: int | None, folder: Path) -> list[dict[str, Any]]:
    """The same trace in several new pages, one after the other; its picture has up to ``shown`` nodes, or is as it opens by itself."""
    path = folder / f"{shown}.html"
    with mock.patch.object(payload, "skeleton", partial(skeleton, max_nodes=shown)) if shown else nullcontext():
        trace.to_html(path)
    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("TENSORVIZ_CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for _ in range(PAGES):
            page = browser.new_page(viewport={"width": 1280, "height": 700})
            found.append(visit(page, path))
            page.close()
        browser.close()
    return found


def line(trace: Trace, pages: list[dict[str, Any]]) -> str:
    work, frame = ([t for page in pages for t in page[name]] for name in ("work", "frame"))
    least = [min(visits) for visits in zip(*(page["work"] for page in pages), strict=True)]
    jumps = [t for page in pages for t in page["jumps"]["work"]]
    both = (f"{percentile(times, 0.5):7.1f} /{percentile(times, 0.95):6.1f}" for times in (least, work, frame))
    middle = {name: percentile([page[name] for page in pages], 0.5) for name in ("cpu", "drag", "settle")}
    return (
        f"{pages[0]['visible']:7} {len(trace.steps):6} {'  '.join(both)} {middle['cpu']:9.1f} {percentile(jumps, 0.95):9.1f}"
        f" {middle['drag']:8.0f}, {middle['settle']:.0f}   {min(page['loop'] for page in pages):.2f}"
    )


def main() -> None:
    sizes = [int(a) for a in sys.argv[1:]] or [200, 1000, 3000]
    print("                  script+layout:   least            all")
    print("visible  steps    p50 /   p95      p50 /   p95      frame p50/p95  CPU/step  jump p95  500-step drag, settled after   loop   [ms]")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            trace = grid(size)
            print(line(trace, measure(trace, size + 100 if size <= LARGEST else None, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
