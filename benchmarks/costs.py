"""What a pass costs beside its time: memory, import, the source position of a node, deep chains, finite differences."""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks import bars, engines
from benchmarks.process import ROOT
from benchmarks.results import Result
from benchmarks.timing import race, ratio, ratios, spread
from benchmarks.workloads import LARGE, chain


def between(times: Mapping[str, list[float]], one: str, other: str, workload: str, what: str, bar: float | None, scale: float = 1.0) -> Result:
    """The result that compares two contenders of a race; ``scale`` turns times of unlike amounts into times per unit."""
    low, high = spread([scale * r for r in ratios(times, one, other)])
    return Result(workload, what, scale * ratio(times, one, other), "x", bar, low, high)


# ---- memory -----------------------------------------------------------------------------------------------------


def memory() -> list[Result]:
    """Bytes per node that a chain with its record holds, and peaks against hand-written NumPy."""
    results = [Result("c 10k", "memory kept per node", kept_per_node(10_000), "bytes", bars.MEMORY)]
    for name, bar in bars.PEAK.items():
        hand = peak(engines.by_hand(LARGE[name]).run)
        for program in engines.ours(LARGE[name]):
            results.append(
                Result(name, f"peak memory: {program.engine} / NumPy", peak(program.run) / hand, "x", bar if program.engine == bars.OURS else None)
            )
    return results


def kept_per_node(nodes: int) -> float:
    """Bytes per node while the result, its graph and its record live."""
    program = engines.tensorviz(chain.workload(nodes), bars.OURS, record=True)
    program.run()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = program.run()
        gc.collect()
        bytes_ = tracemalloc.get_traced_memory()[0] - before
        del kept
    finally:
        tracemalloc.stop()
    return bytes_ / nodes


def peak(run: Callable[[], Any]) -> int:
    """Bytes at the worst moment of one run, what was there before not counted."""
    run()
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---- import -----------------------------------------------------------------------------------------------------


def imports(rounds: int) -> list[Result]:
    """``import tensorviz`` against ``import numpy``, each in fresh interpreters; the interpreter's own start is not counted."""
    names = ["numpy", "tensorviz"]
    times: dict[str, list[float]] = {name: [] for name in names}
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as compiled:
        # both from compiled files, which an installed package has and a checkout may not (PYTHONDONTWRITEBYTECODE)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPYCACHEPREFIX": compiled}
        for turn in range(rounds + 1):
            rng.shuffle(names)
            for name in names:
                code = f"from time import process_time as t; s = t(); import {name}; print(t() - s)"
                told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=environment).stdout
                if turn:  # the first turn compiles
                    times[name].append(float(told))
    return [between(times, "tensorviz", "numpy", "import", "import tensorviz / import numpy", bars.IMPORT)]


# ---- source positions -------------------------------------------------------------------------------------------


def position(rounds: int) -> list[Result]:
    """Microseconds per node for noting where it was made: in a short function, in a long one, under many frames."""
    ours = importlib.import_module("tensorviz.engine.graph").OURS
    getframe, before = sys._getframe, None
    node = SimpleNamespace(code=None, lasti=-1)

    def noted() -> None:
        # as the engine does: two attributes of a node, and whether a function is the user's is asked once for the nodes that it makes in a row
        nonlocal before
        frame = getframe(1)
        code = frame.f_code
        if code is not before:
            if ours[frame.f_globals.get("__name__")]:
                raise AssertionError
            before = code
        node.code = code
        node.lasti = frame.f_lasti

    def unnoted() -> None:
        node.code = None
        node.lasti = -1

    tv: Any = importlib.import_module("tensorviz")
    x, y = tv.tensor(0.5, requires_grad=True), tv.tensor(2.0, requires_grad=True)
    results = []
    for place, padding, depth in (
        ("in a short function", "", 0),
        ("in a function of 5,000 lines", "    if never:\n" + "        z = 1\n" * 5_000, 0),
        ("under 900 frames", "", 900),
    ):
        contenders = {
            "noted": _hundred("f()", {"f": noted}, padding),
            "unnoted": _hundred("f()", {"f": unnoted}, padding),
            "node": _hundred("x * y", {"x": x, "y": y}, padding),
        }
        times = _under(depth, partial(race, contenders, rounds))
        cost = statistics.median(1e4 * (a - b) for a, b in zip(times["noted"], times["unnoted"], strict=True))
        results.append(Result("position", f"source position {place}", cost, "us", bars.POSITION))
        results.append(Result("position", f"one node x * y {place}", 1e4 * statistics.median(times["node"]), "us"))
    return results


def _hundred(call: str, names: Mapping[str, Any], padding: str) -> Callable[[], Any]:
    """A function that makes a call a hundred times, after some other lines."""
    space: dict[str, Any] = {"__name__": "__main__", "never": False, **names}
    text = "def run():\n" + padding + f"    {call}\n" * 100
    exec(compile(text, "<place>", "exec"), space)
    made: Callable[[], Any] = space["run"]
    return made


def _under(depth: int, run: Callable[[], Any]) -> Any:
    """What the function returns, called from so many frames further down."""
    return _under(depth - 1, run) if depth else run()


# ---- deep chains ------------------------------------------------------------------------------------------------


def length(rounds: int) -> list[Result]:
    """Time per node at 100,000 nodes to that at 1,000."""
    short, long_ = 1_000, 100_000
    runs = {str(n): engines.tensorviz(chain.workload(n), bars.OURS, record=True).run for n in (short, long_)}
    times = race(runs, rounds)
    per_node = 1e6 * statistics.median(times[str(short)]) / short
    return [
        between(times, str(long_), str(short), "c", "time per node at 100k / at 1k", bars.LENGTH, scale=short / long_),
        Result("c 1k", "time per node", per_node, "us"),
        Result("c 10k", "first look at the record, per node", 1e6 * first_look(10_000), "us"),
    ]


def first_look(nodes: int) -> float:
    """Seconds per node for building the record that a pass left behind, which happens when it is first looked at."""
    program = engines.tensorviz(chain.workload(nodes), bars.OURS, record=True)

    def look() -> int:
        return len(program.run().trace.nodes)

    times = race({"pass": program.run, "look": look}, 5)
    return statistics.median(a - b for a, b in zip(times["look"], times["pass"], strict=True)) / nodes


def deep(nodes: int = 300_000) -> list[Result]:
    """A very deep chain in a thread with an 8 MiB stack and the usual recursion limit: seconds of each stage. A crash raises."""
    told = subprocess.run([sys.executable, "-m", "benchmarks.deep", str(nodes)], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return [Result("c 300k", f"deep chain: {stage}", seconds, "s") for stage, seconds in json.loads(told).items()]


# ---- finite differences -----------------------------------------------------------------------------------------


def gradcheck(rounds: int) -> list[Result]:
    """Entry-wise gradcheck of (b) against a plain loop in NumPy and against PyTorch's."""
    tv: Any = importlib.import_module("tensorviz")
    if not hasattr(tv, "gradcheck"):
        print("tensorviz.gradcheck is not there yet: left out")
        return []
    workload = LARGE["b"]
    ours, plain = engines.language(), SimpleNamespace(np=np, relu=lambda x: np.maximum(x, 0))
    constants = [tv.tensor(c) for c in workload.constants]
    runs: dict[str, Callable[[], Any]] = {
        "ours": lambda: tv.gradcheck(lambda *p: workload.forward(ours, p, constants), *workload.parameters),
        "loop": lambda: differences(
            lambda p: float(workload.forward(plain, p, workload.constants)), workload.by_hand(workload.parameters, workload.constants)[1]
        ),
    }

    def differences(f: Callable[[Any], float], gradients: tuple[Any, ...], eps: float = 1e-6) -> None:
        moved = [p.copy() for p in workload.parameters]
        for p, gradient in zip(moved, gradients, strict=True):
            for i in np.ndindex(p.shape):
                kept = p[i]
                p[i] = kept + eps
                above = f(moved)
                p[i] = kept - eps
                below = f(moved)
                p[i] = kept
                assert abs((above - below) / (2 * eps) - gradient[i]) <= 1e-5 + 1e-3 * abs(gradient[i])

    results = []
    torch = engines.optional("torch")
    if torch is not None:
        leaves = [torch.tensor(p, requires_grad=True) for p in workload.parameters]
        torch_constants = [torch.tensor(c) for c in workload.constants]
        words = SimpleNamespace(np=torch, relu=torch.relu)
        runs["torch"] = lambda: torch.autograd.gradcheck(lambda *p: workload.forward(words, p, torch_constants), leaves)
    times = race(runs, rounds)
    results.append(between(times, "ours", "loop", "b", "gradcheck / plain NumPy loop", bars.CHECK_LOOP))
    if torch is not None:
        results.append(between(times, "ours", "torch", "b", "gradcheck / torch.autograd.gradcheck", bars.CHECK_TORCH))
    return results
