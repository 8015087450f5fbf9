"""What the checks cost: a whole trace against gradchecks of the same function, one step of the digits network, growth with the nodes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks import bars, engines
from benchmarks.costs import between
from benchmarks.process import ROOT
from benchmarks.results import Result
from benchmarks.timing import race
from benchmarks.workloads import LARGE


def measure(rounds: int) -> list[Result]:
    """All of it."""
    return [*whole(rounds), *digits(max(5, rounds // 3)), *growth(max(5, rounds // 3))]


def whole(rounds: int) -> list[Result]:
    """``trace.check()`` of (b), every node local and global, with its pass, against the gradchecks of the same function."""
    tv: Any = importlib.import_module("tensorviz")
    workload = LARGE["b"]
    ours = engines.language()
    constants = [tv.tensor(c) for c in workload.constants]
    leaves = [tv.tensor(p, requires_grad=True) for p in workload.parameters]
    runs: dict[str, Callable[[], Any]] = {
        "check": lambda: workload.forward(ours, leaves, constants).backward().check(),
        "gradcheck": lambda: tv.gradcheck(lambda *p: workload.forward(ours, p, constants), *workload.parameters),
    }
    torch = engines.optional("torch")
    if torch is not None:
        theirs = [torch.tensor(p, requires_grad=True) for p in workload.parameters]
        torch_constants = [torch.tensor(c) for c in workload.constants]
        words = SimpleNamespace(np=torch, relu=torch.relu)
        runs["torch"] = lambda: torch.autograd.gradcheck(lambda *p: workload.forward(words, p, torch_constants), theirs)
    times = race(runs, rounds)
    found = [between(times, "check", "gradcheck", "b", "pass and trace.check() / tv.gradcheck", None)]
    if torch is not None:
        found.append(between(times, "check", "torch", "b", "pass and trace.check() / torch.autograd.gradcheck", bars.CHECK_WHOLE))
    return found


def digits(rounds: int) -> list[Result]:
    """One training step of the digits network: every node checked, directions plus samples, against the step itself."""
    tv: Any = importlib.import_module("tensorviz")
    with np.load(ROOT / "notebooks" / "data" / "digits.npz") as data:
        images, labels = data["images"][:128].reshape(128, 64) / 16.0, data["labels"][:128].astype(int)
    rng = np.random.default_rng(0)
    weights = [rng.normal(0, np.sqrt(2 / 64), (64, 32)), np.zeros(32), rng.normal(0, np.sqrt(2 / 32), (32, 10)), np.zeros(10)]
    leaves = [tv.tensor(w, requires_grad=True) for w in weights]

    def step() -> Any:
        w1, b1, w2, b2 = leaves
        return tv.cross_entropy(tv.relu(images @ w1 + b1) @ w2 + b2, labels).backward()

    trace = step()
    assert trace.check().ok
    times = race({"check": trace.check, "step": step}, rounds)
    return [between(times, "check", "step", "digits", "trace.check() / forward and backward", bars.CHECK_DIGITS)]


def growth(rounds: int) -> list[Result]:
    """Time per node of a local check at 2,000 nodes to that at 250."""
    tv: Any = importlib.import_module("tensorviz")
    checks = importlib.import_module("tensorviz.checks.local")
    run = importlib.import_module("tensorviz.checks.run")

    def chain(nodes: int) -> Callable[[], Any]:
        h = tv.tensor(np.linspace(0.1, 1.0, 8), requires_grad=True)
        for _ in range(nodes // 2):
            h = np.sin(h) * 1.1
        trace = h.sum().backward()
        _ = trace.data  # builds the record
        ids = range(len(trace.nodes))
        return lambda: checks.check_rules(run.subject_of(trace), ids)

    short, long_ = 250, 2_000
    times = race({"short": chain(short), "long": chain(long_)}, rounds)
    return [between(times, "long", "short", "chain", "local check, per node, 2,000 / 250 nodes", bars.CHECK_GROWTH, scale=short / long_)]
