"""How long a step takes in the browser: marks, caption and inspector, on pictures of several sizes.

    python benchmarks/stepping.py [NODES ...]

Opens the offline page of a trace in Chromium (``TENSORVIZ_CHROMIUM`` or ``/usr/bin/chromium``; needs the extra ``test``), walks through 120 steps one by
one, jumps 60 times, and drags the slider over 500 steps. Times are of one page on one machine: *script + layout* is the synchronous drawing with a forced
layout, *frame* is from the event until after the next frame, *CPU* is what the page's main thread used in all for a step, painting included.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from playwright.sync_api import CDPSession, sync_playwright

import tensorviz as tv
from tensorviz.trace import Trace
from tensorviz.views.svg import skeleton
from tensorviz.widgets import payload

MEASURE = """async ({ walk, jumps, drag }) => {
  const root = document.querySelector('.tensorviz'), slider = root.querySelector('.tv-slider'), n = +slider.max;
  const go = (k) => { slider.value = k; slider.dispatchEvent(new Event('input')); };
  const original = requestAnimationFrame;
  let script = 0;
  globalThis.requestAnimationFrame = (f) => original((t) => { const a = performance.now(); f(t); document.body.offsetHeight; script += performance.now() - a; });
  const measure = async (list) => {
    const work = [], frame = [];
    for (const k of list) {
      await new Promise(r => original(r));
      script = 0;
      const start = performance.now();
      go(k);
      await new Promise(r => original(() => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); }));
      frame.push(performance.now() - start);
      work.push(script);
    }
    const q = (a, p) => [...a].sort((x, y) => x - y)[Math.min(a.length - 1, Math.floor(p * a.length))];
    return { work50: q(work, .5), work95: q(work, .95), frame50: q(frame, .5), frame95: q(frame, .95) };
  };
  const middle = Math.max(1, Math.floor(n / 2) - walk);
  if (walk) return measure(Array.from({ length: walk }, (_, i) => Math.min(n, middle + i)));
  if (jumps) return measure(Array.from({ length: jumps }, (_, i) => 1 + (i * 7919) % n));
  const count = Math.min(drag, n - 1), start = performance.now();
  for (let i = 0; i < count; i++) { go(1 + i); if (i % 25 === 24) await new Promise(r => original(r)); }
  const last = performance.now();
  await new Promise(r => original(() => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); }));
  return { drag: performance.now() - start, settle: performance.now() - last };
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


def measure(trace: Trace, shown: int, folder: Path) -> dict[str, Any]:
    with mock.patch.object(payload, "skeleton", partial(skeleton, max_nodes=shown)):
        path = folder / f"{shown}.html"
        trace.to_html(path)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("TENSORVIZ_CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 700})
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready]", timeout=120_000)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.evaluate(MEASURE, {"walk": 20, "jumps": 0, "drag": 0})
        before = cpu(session)
        found: dict[str, Any] = {"visible": page.locator(".tv-stage [data-node]").count(), "steps": len(trace.steps)}
        found |= page.evaluate(MEASURE, {"walk": 120, "jumps": 0, "drag": 0})
        found["cpu"] = (cpu(session) - before) / 120 * 1000
        found |= {f"jump_{k}": v for k, v in page.evaluate(MEASURE, {"walk": 0, "jumps": 60, "drag": 0}).items()}
        found |= page.evaluate(MEASURE, {"walk": 0, "jumps": 0, "drag": 500})
        browser.close()
    return found


def main() -> None:
    sizes = [int(a) for a in sys.argv[1:]] or [200, 1000, 3000]
    print("visible  steps  script+layout p50/p95  frame p50/p95  CPU/step  jump p95 (frame)  500-step drag, settled after   [ms]")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            m = measure(grid(size), size + 100, Path(folder))
            print(
                f"{m['visible']:7} {m['steps']:6}  {m['work50']:9.1f} /{m['work95']:6.1f} {m['frame50']:13.1f} /{m['frame95']:6.1f} {m['cpu']:9.1f}"
                f" {m['jump_work95']:8.1f} ({m['jump_frame95']:.1f}) {m['drag']:14.0f}, {m['settle']:.0f}"
            )


if __name__ == "__main__":
    main()
