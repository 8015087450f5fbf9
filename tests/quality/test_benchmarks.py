"""The benchmarks compare engines that compute the same thing: every workload against hand-written NumPy, which is itself held against differences."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent
LETTERS = ["a", "b", "c", "d", "e"]


def part(name: str):
    """A module of the benchmarks, which are no part of the installed package."""
    if "benchmarks" not in sys.modules:
        folder = ROOT / "benchmarks"
        spec = importlib.util.spec_from_file_location("benchmarks", folder / "__init__.py", submodule_search_locations=[str(folder)])
        sys.modules["benchmarks"] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"benchmarks.{name}")


@pytest.fixture(autouse=True)
def _recursion_limit_restored():
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize("letter", LETTERS)
def test_the_gradient_by_hand_is_what_differences_give(letter):
    workload = part("workloads").TINY[letter]
    words = SimpleNamespace(np=np, relu=lambda x: np.maximum(x, 0), peak=lambda x: x.max(axis=-1, keepdims=True))
    loss, gradients = workload.by_hand(workload.parameters, workload.constants)
    assert loss == pytest.approx(float(workload.forward(words, workload.parameters, workload.constants)), rel=1e-12)
    moved = [p.copy() for p in workload.parameters]
    for p, gradient in zip(moved, gradients, strict=True):
        for i in np.ndindex(p.shape):
            kept, around = p[i], []
            for step in (1e-6, -1e-6):
                p[i] = kept + step
                around.append(float(workload.forward(words, moved, workload.constants)))
            p[i] = kept
            assert (around[0] - around[1]) / 2e-6 == pytest.approx(gradient[i], rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("letter", LETTERS)
def test_every_engine_that_is_here_computes_the_same_loss_and_gradients(letter):
    engines = part("engines")
    workload = part("workloads").TINY[letter]
    expected = workload.by_hand(workload.parameters, workload.constants)
    for program in engines.programs(workload):
        engines.agree(program, expected)


def test_a_wrong_gradient_is_refused_before_anything_is_timed():
    engines = part("engines")
    workload = part("workloads").TINY["b"]
    loss, gradients = workload.by_hand(workload.parameters, workload.constants)
    wrong = engines.Program("wrong", lambda: (loss, (gradients[0] * 1.001, *gradients[1:])), lambda result: result)
    with pytest.raises(AssertionError, match="wrong: gradient 0"):
        engines.agree(wrong, (loss, gradients))


def test_hooks_in_pytorch_keep_the_gradient_and_the_shares_of_every_node():
    torch = pytest.importorskip("torch")
    engines = part("engines")
    a = torch.tensor(3.0, requires_grad=True)
    loss = (a * a + a).sum()
    kept = engines.keep_gradients(loss.grad_fn)
    loss.backward()
    # sum, add, mul and the node that accumulates into a: each once before it runs and once after
    assert len(kept) == 8
    assert [float(t) for t in kept[-2]] == [7.0]


def test_a_ratio_is_the_median_of_the_ratios_within_rounds():
    timing = part("timing")
    times = {"one": [1.0, 20.0, 3.0], "other": [2.0, 10.0, 3.0]}
    assert timing.ratio(times, "one", "other") == 1.0
    assert timing.ratios(times, "one", "other") == [0.5, 2.0, 1.0]


def test_contenders_take_turns_as_often_as_there_are_rounds():
    timing = part("timing")
    calls = []
    times = timing.race({"one": lambda: calls.append("one"), "other": lambda: calls.append("other")}, 3, least=0)
    assert [len(times["one"]), len(times["other"])] == [3, 3]
    assert set(calls) == {"one", "other"}


def test_the_table_says_what_is_over_its_bar():
    results = part("results")
    made = [results.Result("b", "ours / theirs", 0.21, bar=0.15, low=0.2, high=0.22), results.Result("b", "ours / hand", 2.4, bar=2.5)]
    over, fine = results.table(made).splitlines()[2:]
    assert over.split() == ["b", "ours", "/", "theirs", "0.210x", "0.2", "-", "0.22", "<=", "0.150x", "OVER"]
    assert fine.split()[-1] == "ok"
